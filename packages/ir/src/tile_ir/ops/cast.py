"""Type conversion: the legal casts of the vector unit and their rounding modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tile_ir.dtypes import BOOL, DTYPES, FLOAT16, INT16, DType, from_bytes, to_bytes
from tile_ir.expr import constant_value
from tile_ir.layout.geometry import BLOCK_BYTES, element_count, is_contiguous
from tile_ir.lazy import np
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import AttrDef, Effect, OpDef, Problem, Scratch
from tile_ir.ops.axes import elements, whole
from tile_ir.ops.rules import (
    BITS,
    UB,
    VECTOR,
    all_rules,
    destination,
    elements_bound,
    even_rows,
    on,
    packed,
    same_size,
    scalar,
    scratch_operand,
    shape_text,
    source,
)
from tile_ir.target import Target

# The modes of conversions that round.
_ALL = ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
# These multiply with the scale that `set_deq_scale` has set, and do not look at the mode.
DEQUANTIZING = {("int32", "float16")}


Modes = Mapping[tuple[str, str], tuple[str, ...]]

# Types on the way where no instruction converts directly. Every one holds the values exactly, or
# rounds such that rounding again gives the same.
_BETWEEN: tuple[tuple[str, ...], ...] = (
    (),
    ("float32",),
    ("float16",),
    ("float16", "int32"),
    ("float16", "float32"),
    ("float32", "float16"),
)


def conversion_steps(
    source: DType, wanted: DType, modes: Modes
) -> tuple[tuple[DType, str], ...] | None:
    """The casts (type and mode) that convert as the language does: towards zero from float to
    integer, to nearest otherwise; `modes` has those of the chip. None where there are none.
    Integers that are narrowed fit, as `narrow_integers` has made them; the vector unit would
    saturate, where the language wraps."""
    mode = "TRUNC" if source.is_float and wanted.is_integer else "RINT"
    for middle in _BETWEEN:
        chain = (source.name, *middle, wanted.name)
        pairs = list(pairwise(chain))
        if all(p in modes for p in pairs) and _exact(source, middle, wanted):
            return tuple(
                (DTYPES[b], f"cast_{(mode if mode in modes[a, b] else 'NONE').lower()}")
                for a, b in pairs
            )
    return None


_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24}


def _exact(source: DType, middle: tuple[str, ...], target: DType) -> bool:
    """Whether the path over other types loses nothing that the target could keep."""
    for name in middle:
        between = DTYPES[name]
        if not between.is_float:
            continue
        if source.is_integer and source.bits <= _MANTISSA[name]:
            continue
        if source.is_float and _MANTISSA[source.name] <= _MANTISSA[name]:
            continue
        # Integers beyond 2**24 are infinite in float16; small integers survive truncation twice.
        if target.name == "float16" and name == "float32":
            continue
        if target.is_integer and target.bits <= _MANTISSA[name]:
            continue
        return False
    return True


def _pair(op: Op) -> tuple[str, str]:
    return op.region("src").dtype.name, op.region("dst").dtype.name


def _cast_pair(op: Op, target: Target) -> Problem | None:
    """The types are a pair that the table of conversions has, and the mode is one of the pair's."""
    src, dst, mode = op.region("src"), op.region("dst"), op.attr("mode")
    pair = (src.dtype.name, dst.dtype.name)
    if pair in DEQUANTIZING:
        return None
    if pair not in target.conversions:
        message = f"cast: no instruction converts {pair[0]} to {pair[1]}"
        return Problem("cast-pair", message, "dst", _detour(pair, target))
    legal = tuple(f"cast_{m.lower()}" for m in target.conversions[pair])
    if mode not in legal:
        message = f"cast: {pair[0]} to {pair[1]} does not take {mode.upper()}, expected one of "
        message += f"{', '.join(m.upper() for m in legal)}"
        hint = f"write {legal[0].upper()}"
        return Problem("cast-mode", message, "mode", hint)
    return None


def _detour(pair: tuple[str, str], target: Target) -> str | None:
    for middle in ("float32", "float16", "int32"):
        if {(pair[0], middle), (middle, pair[1])} <= target.conversions.keys():
            return f"cast to {middle} first"
    return None


def round_to_mode(values: Any, mode: str) -> Any:
    """Integral values by rounding mode (docs/hardware/units.md#conversions)."""
    match mode:
        case "cast_rint":
            return np.rint(values)
        case "cast_floor":
            return np.floor(values)
        case "cast_ceil":
            return np.ceil(values)
        case "cast_trunc":
            return np.trunc(values)
        case "cast_round":
            return np.copysign(np.floor(np.abs(values) + 0.5), values)
    raise AssertionError(f"{mode} does not round to an integer")


def convert(values: Any, source_dtype: DType, dtype: DType, mode: str) -> Any:
    """Values converted between element types as the vector unit does it: to integers with
    saturation and NaN as 0, to narrower floats with the given rounding."""
    with np.errstate(all="ignore"):
        if dtype.is_integer:
            if source_dtype.is_integer:
                return np.clip(values, *_range(dtype, source_dtype)).astype(dtype.compute)
            exact = np.asarray(values, np.float64)
            low, high = dtype.limits()
            rounded = np.nan_to_num(
                round_to_mode(exact, mode if mode != "cast_none" else "cast_rint"),
                nan=0.0,
                posinf=np.inf,
                neginf=-np.inf,
            )
            result = np.where(rounded >= high, high, 0).astype(dtype.compute)
            inside = (rounded > low) & (rounded < high)
            result = np.where(rounded <= low, np.array(low, dtype.compute), result)
            safe = np.where(inside, rounded, 0.0).astype(np.int64).astype(dtype.compute)
            return np.where(inside, safe, result)
        if dtype == source_dtype:
            return round_to_mode(values, mode) + 0.0  # turns -0 into +0, as documented
        if dtype.bits < source_dtype.bits or (source_dtype.is_integer and mode != "cast_none"):
            return narrow(np.asarray(values), dtype, mode)
        return np.asarray(values).astype(dtype.compute)


def _range(dtype: DType, source_dtype: DType) -> tuple[int, int]:
    low, high = dtype.limits()
    source_low, source_high = source_dtype.limits()
    return max(low, source_low), min(high, source_high)


def narrow(values: Any, dtype: DType, mode: str) -> Any:
    """Floats (or integers) as a narrower float type with a directed rounding mode."""
    exact = np.asarray(values, np.float64)
    nearest = np.asarray(from_bytes(to_bytes(exact, dtype), dtype), np.float64)
    if mode in ("cast_rint", "cast_none"):
        return nearest.astype(dtype.compute)
    down, up = _neighbours(exact, nearest, dtype)
    match mode:
        case "cast_floor":
            chosen = down
        case "cast_ceil":
            chosen = up
        case "cast_trunc":
            chosen = np.where(exact >= 0, down, up)
        case "cast_round":
            tie = (exact - down) == (up - exact)
            away = np.where(exact >= 0, up, down)
            chosen = np.where(tie & (down != up), away, nearest)
        case _:  # to odd: the neighbour with an odd last bit, unless exact
            odd_down = np.asarray(to_bytes(down, dtype)).view(np.uint16) & 1
            chosen = np.where(down == up, nearest, np.where(odd_down == 1, down, up))
    return np.where(np.isfinite(exact), chosen, nearest).astype(dtype.compute)


def _neighbours(exact: Any, nearest: Any, dtype: DType) -> tuple[Any, Any]:
    """The largest value of `dtype` not above and the smallest not below each number."""
    below, above = _step(nearest, dtype, -1), _step(nearest, dtype, 1)
    down = np.where(nearest <= exact, nearest, below)
    up = np.where(nearest >= exact, nearest, above)
    return down, up


def _step(values: Any, dtype: DType, direction: int) -> Any:
    """The next representable value up (1) or down (-1)."""
    bits = np.asarray(to_bytes(values, dtype)).view(np.uint16 if dtype.size == 2 else np.uint32)
    sign = np.uint64(1) << np.uint64(dtype.bits - 1)
    wide = bits.astype(np.int64)
    ordered = np.where(wide & int(sign), -(wide & (int(sign) - 1)), wide) + direction
    back = np.where(ordered < 0, (-ordered) | int(sign), ordered).astype(bits.dtype)
    return np.asarray(from_bytes(back.view(dtype.storage), dtype), np.float64)


def dequantized(values: Any, scale: Any) -> Any:
    """Integers times the scale that `set_deq_scale` has set."""
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float64) * np.float64(scale)


def _cast(op: Op, _dst: Any, src: Any, _count: Any, scale: Any = None) -> Any:
    if scale is not None:
        return dequantized(src, scale)
    return convert(src, op.region("src").dtype, op.region("dst").dtype, op.attr("mode"))


def _between_truths(
    name: str, doc: str, dtype: DType, from_dtype: DType, meaning: Callable[[Any], Any]
) -> OpDef:
    """One of the two casts between truth values, which are bytes 0 and 1, and halves 0 and 1."""
    return OpDef(
        name=name,
        family="cast",
        doc=doc,
        ascend_c="Cast",
        namespace=None,
        operands=(destination("dst", UB, dtype), source("src", UB, from_dtype)),
        placement=VECTOR,
        axes=elements,
        meaning=lambda op, _dst, src: meaning(src),
        elementwise=True,
        by_rows=lambda op: True,
        shape_rule=same_size,
    )


def _takes_rows(op: Op) -> bool:
    """Not of elements that share a byte, nor the first few of all."""
    whole = all(op.region(name).dtype.whole_bytes for name in ("dst", "src"))
    return whole and op.operand("count") is None


# Bits of a packed number, and 16-bit lanes of one instruction.
FIELD, LANES = 4, 128


def _numbers(op: Op, target: Target) -> Problem | None:
    """dst has as many elements as src packs numbers, and both are runs."""
    src, dst = op.region("src"), op.region("dst")
    for name, region in (("src", src), ("dst", dst)):
        if not is_contiguous(region):
            return op.problem(name, "strided-operand", "is not contiguous")
    count, packed_in = constant_value(element_count(dst)), constant_value(element_count(src))
    if count is None or packed_in is None or count != packed_in * (src.dtype.bits // FIELD):
        found = f"has {shape_text(dst)}, but src `{src.buffer.name}` packs {shape_text(src)}"
        return op.problem("dst", "shape-mismatch", found)
    return None


def _unpacked(op: Op, dst: Any, src: Any, _scratch: Any) -> Any:
    dtype = op.region("src").dtype
    bits = np.asarray(src).astype(np.int64).reshape(-1, 1) >> np.arange(0, dtype.bits, FIELD)
    turned = (bits & 15) ^ (0 if op.attr("unsigned") else 8)
    return (turned - 8).astype(np.float16).reshape(np.shape(dst))


def _words(op: Op) -> int:
    """16-bit lanes that hold the packed numbers, in whole blocks."""
    src = op.region("src")
    return -(-elements_bound(src) * src.dtype.size // BLOCK_BYTES) * (BLOCK_BYTES // 2)


def _turned(op: Op) -> tuple[Scratch, ...]:
    """The numbers with another highest bit, and a repeat of these bits."""
    return (Scratch(Memory.UB, INT16, _words(op) + LANES),) if op.attr("unsigned") else ()


UNPACK = OpDef(
    name="widen_numbers",
    family="cast",
    doc="the numbers of four bits that src packs, from its lowest bits on, as halves; `unsigned` "
    "ones less 8",
    ascend_c="Cast",
    namespace=None,
    operands=(destination("dst", UB, FLOAT16), source("src", UB, *BITS), scratch_operand()),
    attrs=(AttrDef("unsigned", bool, False),),
    placement=VECTOR,
    axes=whole,
    meaning=_unpacked,
    scratch=_turned,
    shape_rule=_numbers,
    instructions=lambda op: 4 if op.attr("unsigned") else 1,
)

OPS = (
    UNPACK,
    OpDef(
        name="set_deq_scale",
        family="cast",
        doc="the factor of later casts from int32 to float16",
        ascend_c="SetDeqScale",
        namespace="",
        operands=(scalar("scale"),),
        placement=on(Core.VECTOR, Pipe.S),
        axes=whole,
        effect=Effect.SET_DEQ_SCALE,
    ),
    OpDef(
        name="cast",
        family="cast",
        doc="convert the elements of src to the type of dst; only the first count if given",
        ascend_c="Cast",
        operands=(
            packed(destination("dst")),
            packed(source("src")),
            scalar("count", optional=True),
        ),
        attrs=(
            AttrDef(
                "mode", str, "cast_none", tuple(f"cast_{m.lower()}" for m in ("NONE", *_ALL, "ODD"))
            ),
        ),
        placement=VECTOR,
        axes=elements,
        meaning=_cast,
        reads_deq_scale=lambda op: _pair(op) in DEQUANTIZING,
        elementwise=True,
        by_rows=_takes_rows,
        may_alias=False,
        dtype_rule=_cast_pair,
        shape_rule=all_rules(same_size, even_rows),
        parameters=("dst", "src", "mode", "count"),
    ),
    _between_truths(
        "halves_of_truths",
        "1 where src is true, and 0",
        FLOAT16,
        BOOL,
        lambda src: np.asarray(src).astype(np.float16),
    ),
    _between_truths(
        "truths_of_halves",
        "whether the halves of src are 1; all are 1 or 0",
        BOOL,
        FLOAT16,
        lambda src: np.asarray(src) != 0,
    ),
)
