"""Tile copies: the language's `copy` and the single-pipe movements it becomes
(docs/hardware/units.md#transfers).

`copy` clamps at the edges of GM tensors; the movements below it never do: their regions lie inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain, product
from typing import Any

from tile_ir.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, UINT8, DType
from tile_ir.expr import ZERO, Const, Expr, binary, constant_value, is_constant
from tile_ir.layout.footprint import BIAS_UNIT, FRACTAL_ROWS, is_run, k0_elements
from tile_ir.layout.geometry import (
    element_count,
    element_offset,
    is_contiguous,
    row_view,
    same_shape,
    squeezed,
    transfer_rows,
)
from tile_ir.layout.tile_copy import Clipped, clip_copy, match_copy, spill_of_load, starts_inside
from tile_ir.lazy import np
from tile_ir.machine import Core, Memory, Pipe, possible
from tile_ir.nodes import Op, Region
from tile_ir.opdef import ArgumentDef, AttrDef, Axes, Composite, OpDef, Problem, Rule
from tile_ir.ops.axes import all_dims, elements, labelled, whole
from tile_ir.ops.cast import DEQUANTIZING, convert, dequantized
from tile_ir.ops.rules import (
    L1,
    UB,
    all_rules,
    destination,
    even_rows,
    on,
    packed,
    regions,
    same_dtype,
    same_size,
    scalar,
    shape_text,
    source,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.scalars.affine import linear_form, simplify
from tile_ir.target import Target

Path = tuple[Memory, Memory]

# The core and pipe of the record that moves along a path.
_MOVED_BY: dict[Path, tuple[Core, Pipe]] = {
    (Memory.GM, Memory.UB): (Core.VECTOR, Pipe.MTE2),
    (Memory.UB, Memory.GM): (Core.VECTOR, Pipe.MTE3),
    (Memory.UB, Memory.UB): (Core.VECTOR, Pipe.V),
    (Memory.GM, Memory.L1): (Core.CUBE, Pipe.MTE2),
    (Memory.L1, Memory.L0A): (Core.CUBE, Pipe.MTE1),
    (Memory.L1, Memory.L0B): (Core.CUBE, Pipe.MTE1),
    (Memory.L1, Memory.BT): (Core.CUBE, Pipe.MTE1),
    (Memory.L0C, Memory.GM): (Core.CUBE, Pipe.FIX),
    (Memory.L0C, Memory.L1): (Core.CUBE, Pipe.FIX),
}
# Between cores, by way of gm: the compiler provides the workspace.
THROUGH_WORKSPACE = {(Memory.UB, Memory.L1), (Memory.L0C, Memory.UB)}
# Through ub, where the vector core also converts.
THROUGH_UB = {(Memory.GM, Memory.GM)}
_CONVERTED_IN_UB = {
    (Memory.GM, Memory.GM),
    (Memory.GM, Memory.UB),
    (Memory.GM, Memory.L1),
    (Memory.UB, Memory.GM),
    (Memory.UB, Memory.UB),
}

# Which of them turn a matrix, clamp at zero, or fill what is not there.
TRANSPOSING = {(Memory.L1, Memory.L0A), (Memory.L1, Memory.L0B)}
CLAMPING = {(Memory.L0C, Memory.GM), (Memory.L0C, Memory.UB), (Memory.L0C, Memory.L1)}
# Which of them always narrow: accumulators are wider than the operands of products.
NARROWING = {(Memory.L0C, Memory.L1)}
PADDING = {(Memory.GM, Memory.UB)}

ANYWHERE = frozenset(Memory) - {Memory.VAR}


def directions(target: Target) -> Mapping[Path, tuple[Core, Pipe]]:
    """The copies that are one movement on a chip, with the core and pipe that run them
    (docs/language/rules.md#directions): those with a record below for which the chip has a path."""
    return {path: found for path, found in _MOVED_BY.items() if path in target.paths}


def ways(target: Target) -> frozenset[Path]:
    """All copies that a chip can do, those through a workspace of the compiler's included."""
    through = {
        (a, b) for a, b in THROUGH_WORKSPACE if {(a, Memory.GM), (Memory.GM, b)} <= target.paths
    }
    staged = {(a, b) for a, b in THROUGH_UB if {(a, Memory.UB), (Memory.UB, b)} <= target.paths}
    return frozenset({*directions(target), *through, *staged})


def placement_of_path(path: Path) -> tuple[Core, Pipe]:
    """Core and pipe of the movement along a path; the scalar unit of either core where there is
    none."""
    return _MOVED_BY.get(path, (Core.EITHER, Pipe.S))


def goes_through_workspace(op: Op) -> bool:
    """Whether the operation moves a tile between a vector core and the cube core."""
    return op.opdef is COPY and _direction(op) in THROUGH_WORKSPACE


def loads_l1(op: Op) -> bool:
    """Whether the operation is a copy of the language from gm to l1."""
    return op.opdef is COPY and _direction(op) == (Memory.GM, Memory.L1)


def cast_mode_of_copy(source_dtype: DType, dtype: DType, target: Target) -> str:
    """The mode of the cast that a UB to UB copy is which changes the type: to the nearest
    (docs/language/rules.md#conversion)."""
    modes = target.conversions.get((source_dtype.name, dtype.name), ())
    return "cast_none" if modes == ("NONE",) else "cast_rint"


@lru_cache(maxsize=16384)
def _direction(op: Op) -> Path:
    return op.region("src").memory, op.region("dst").memory


def _copy_placement(op: Op) -> tuple[Core, Pipe]:
    return placement_of_path(_direction(op))


def _ways(op: Op, target: Target) -> frozenset[Path]:
    """The paths that have the options of a copy and its conversion."""
    src, dst = op.region("src"), op.region("dst")
    found = set(ways(target))
    if op.attr("transpose"):
        found &= TRANSPOSING
    if op.attr("enable_relu"):
        found &= CLAMPING
    if op.attr("pad_value") is not None:
        found &= PADDING
    converting = {way for way in found if converts(way, src.dtype, dst.dtype, target)}
    return frozenset(converting or found)


def converts(way: Path, dtype: DType, to: DType, target: Target) -> bool:
    """Whether a path may change the type so: what passes through ub as casts do, results of the
    cube as their fixpipe, between the cores as one of the two or both; others never."""
    if dtype == to:
        return way not in NARROWING
    if way == (Memory.UB, Memory.UB) and (dtype.name, to.name) in DEQUANTIZING:
        return True
    if way == (Memory.UB, Memory.UB) and (dtype.name, to.name) in target.conversions:
        return True
    if way in _CONVERTED_IN_UB:
        return _converted_in_ub(dtype, to)
    if way in THROUGH_WORKSPACE and type_between_cores(way, dtype, to, target) is not None:
        return True
    if way == (Memory.L1, Memory.BT):
        return (dtype, to) == (FLOAT16, FLOAT32)
    return way[0] is Memory.L0C and (dtype, to) in target.fixpipe


def _converted_in_ub(dtype: DType, to: DType) -> bool:
    """Whether a parallel loop over a tile converts so, by vector instructions where there are
    such: of types whose elements have bytes of their own. Integers of eight bytes become others,
    and float32."""
    if any(t.bits > FLOAT32.bits for t in (dtype, to)):
        return all(t is FLOAT32 or (t.is_integer and t is not BOOL) for t in (dtype, to))
    return all(t.whole_bytes and t is not BOOL for t in (dtype, to))


def type_between_cores(way: Path, dtype: DType, to: DType, target: Target) -> DType | None:
    """The type in which a tile goes from one core to the other: it is converted before that or
    behind it, in ub. None where no casts do that."""
    if dtype == to:
        return to
    if way == (Memory.UB, Memory.L1):
        return to if _converted_in_ub(dtype, to) else None
    leaving = sorted((b for a, b in target.fixpipe if a == dtype), key=lambda b: b != dtype)
    if to in leaving:
        return to
    in_one_step = (b for b in leaving if (b.name, to.name) in target.conversions)
    in_several = (b for b in leaving if _converted_in_ub(b, to))
    return next(chain(in_one_step, in_several), None)


def _copy_direction(op: Op, target: Target) -> Problem | None:
    """There is a path between the memories, and it has the requested options."""
    src, dst = op.region("src"), op.region("dst")
    direction = _direction(op)
    if {Memory.SHARED, Memory.FRAGMENT} & set(direction):
        ends = set(product(possible(src.memory), possible(dst.memory)))
        if ends & _ways(op, target):
            return None
        direction = min(ends & ways(target) or ends, key=lambda way: (way[0].value, way[1].value))
    if direction not in ways(target):
        if direction in target.paths:
            message = f"copy: no operation takes the path from {direction[0].value} to "
            message += f"{direction[1].value} that {target.name} has"
            return Problem("copy-direction", message, "dst", "copy through gm")
        message = f"copy: there is no path from {src.memory.value} (`{src.buffer.name}`) to "
        message += f"{dst.memory.value} (`{dst.buffer.name}`)"
        return Problem("copy-direction", message, "dst", route(direction))
    transpose, relu, pad = op.attr("transpose"), op.attr("enable_relu"), op.attr("pad_value")
    if transpose and direction not in TRANSPOSING:
        hint = "turn the tile where it is loaded to l0a or l0b"
        return Problem(
            "copy-option", "copy: transpose is only for l1 to l0a or l0b", "transpose", hint
        )
    if relu and direction not in CLAMPING:
        message = "copy: enable_relu is only for l0c to gm, ub or l1"
        hint = "call T.tile.relu on the tile in ub"
        return Problem("copy-option", message, "enable_relu", hint)
    if pad is not None and direction not in PADDING:
        hint = "fill the tile before the copy"
        return Problem("copy-option", "copy: pad_value is only for gm to ub", "pad_value", hint)
    return None


def route(direction: tuple[Memory, Memory]) -> str | None:
    """The hint where there is no path."""
    match direction:
        case (Memory.GM, Memory.L0A | Memory.L0B):
            return "copy to l1 first, then to l0a or l0b"
        case (_, Memory.BT):
            return "bias tables are filled from l1"
        case (Memory.L1, Memory.UB | Memory.GM):
            return "l1 is read by the cube core only; keep a second copy in gm"
        case (Memory.UB, Memory.L0A | Memory.L0B):
            return "vector results reach the cube core through gm and l1"
        case (_, Memory.L0C):
            return "only products reach l0c: begin with init=True, add tiles on the vector cores"
        case (Memory.L0C, _):
            return "products leave l0c for gm, ub or l1"
    return None


def _copy_dtypes(op: Op, target: Target) -> Problem | None:
    """Both sides have one type; ub to ub converts as T.tile.cast, l0c to gm as its fixpipe, copies
    between the cores as these."""
    src, dst = op.region("src"), op.region("dst")
    if src.dtype == dst.dtype:
        if _direction(op) in NARROWING:
            return _not_narrowed(op)
        return None if src.dtype.whole_bytes else _packed_copy(op, target)
    direction = _direction(op)
    ends = product(possible(src.memory), possible(dst.memory))
    if any(converts(way, src.dtype, dst.dtype, target) for way in ends):
        return None
    if src.memory is Memory.L0C:
        hint = "l0c float32 leaves as float32, float16 or bfloat16; int32 as int32"
        hint += "; convert further with T.tile.cast in ub" if dst.memory is not Memory.GM else ""
    elif direction == (Memory.L1, Memory.BT):
        hint = "float16 in l1 becomes float32 in bt; float32 and int32 stay what they are"
    else:
        hint = "allocate the tile with the same dtype, or with one that T.tile.cast reaches"
    return Problem(
        "dtype-mismatch",
        f"copy: src `{src.buffer.name}` is {src.dtype}, but dst `{dst.buffer.name}` is {dst.dtype}",
        "dst",
        hint,
    )


def _not_narrowed(op: Op) -> Problem:
    src, dst = op.region("src"), op.region("dst")
    message = f"copy: src `{src.buffer.name}` and dst `{dst.buffer.name}` are {src.dtype}, but "
    message += "accumulators reach l1 as types of 16 bits"
    hint = f"allocate `{dst.buffer.name}` as float16 or bfloat16, or copy through gm"
    return Problem("dtype-mismatch", message, "dst", hint)


# Copies that move the bytes of elements that share some. What turns matrices of them is the load of
# right operands only.
_OF_BYTES = {
    (Memory.GM, Memory.UB),
    (Memory.UB, Memory.GM),
    (Memory.GM, Memory.L1),
    (Memory.L1, Memory.L0A),
    (Memory.L1, Memory.L0B),
}


def _packed_copy(op: Op, target: Target) -> Problem | None:
    """Elements that share bytes leave gm and reach it in whole bytes."""
    src, dst = op.region("src"), op.region("dst")
    ends = set(product(possible(src.memory), possible(dst.memory)))
    if not ends & _OF_BYTES:
        message = f"copy: src `{src.buffer.name}` and dst are {src.dtype}, but copies within ub "
        message += "move whole bytes"
        hint = "copy int8 tiles, whose bytes T.reinterpretcast names"
        return Problem("operand-dtype", message, "src", hint)
    turned = any(a.name == "transpose" and v for a, v in zip(op.opdef.attrs, op.attrs, strict=True))
    if turned and dst.memory is Memory.L0A:
        return Problem(
            "operand-dtype",
            f"copy: src `{src.buffer.name}` is {src.dtype}, which the load to l0a does not turn",
            "src",
            "store the left operand as [m, k]",
        )
    if op.opdef is COPY and op.attr("pad_value"):
        message = f"copy: {src.dtype} tiles are padded with zeros only"
        hint = "fill the tile with the value before the copy"
        return Problem("copy-option", message, "pad_value", hint)
    for name, region in (("src", src), ("dst", dst)):
        terms, start = linear_form(element_offset(region))
        if start % 2 and all(factor % 2 == 0 for factor in terms.values()):
            message = f"copy: {name} `{region.buffer.name}` starts at an odd element, but two "
            message += f"elements of {region.dtype} share a byte"
            return Problem("odd-elements", message, name, "start at an even element")
    return None


def _different_tiles(op: Op) -> Problem:
    src, dst = op.region("src"), op.region("dst")
    message = f"{op.opdef.called}: src `{src.buffer.name}` has {shape_text(src)}, but dst "
    message += f"`{dst.buffer.name}` has {shape_text(dst)}"
    hint = "slice one side so that both describe the same tile"
    return Problem("shape-mismatch", message, "dst", hint)


def _copy_shapes(op: Op, target: Target) -> Problem | None:
    """Both sides describe the same tile, turned if transposed; only a gm side may describe less."""
    if op.attr("transpose"):
        transposed = tuple(reversed(squeezed(op.region("dst"))))
        return None if squeezed(op.region("src")) == transposed else _different_tiles(op)
    return same_tile(op, target)


def _cube_runs(op: Op, target: Target) -> Problem | None:
    """A bias table is filled from a vector of l1, which lies in one run, and only it is; the start
    on both sides is one of a unit."""
    src, dst = op.region("src"), op.region("dst")
    to_table = dst.memory is Memory.BT
    if src.memory is not Memory.L1 or to_table == is_run(src.buffer):
        return _units(op, target) if to_table and src.memory is Memory.L1 else None
    name = src.buffer.name
    if to_table:
        message = f"copy: src `{name}` is a matrix, whose rows lie in fractals, but bias tables "
        message += "are filled from a run of elements"
        hint = f"allocate `{name}` with one dimension: T.alloc_L1((n,), dtype)"
        return Problem("shape-mismatch", message, "src", hint)
    message = f"copy: src `{name}` has one dimension, but {dst.memory.value} takes matrices"
    hint = f"allocate `{name}` with two dimensions: T.alloc_L1((1, n), dtype)"
    return Problem("shape-mismatch", message, "src", hint)


def _units(op: Op, target: Target) -> Problem | None:
    for name, size in (("src", BIAS_UNIT), ("dst", 2 * BIAS_UNIT)):
        region = op.region(name)
        unit = region.dtype.elements_in(size)
        start = constant_value(element_offset(region))
        if start is not None and start % unit:
            message = f"copy: {name} `{region.buffer.name}` starts at element {start}, expected a "
            message += f"multiple of {unit}"
            hint = "bias tables are filled in whole units from l1"
            return Problem("row-alignment", message, name, hint)
    return None


def same_tile(op: Op, target: Target) -> Problem | None:
    """Both sides describe the same tile; only a gm side may describe less."""
    src, dst = op.region("src"), op.region("dst")
    if flat_copy(op):
        return None
    for p in match_copy(src, dst):
        x = 1 if p.src_dim is None else constant_value(src.dims[p.src_dim].extent)
        y = 1 if p.dst_dim is None else constant_value(dst.dims[p.dst_dim].extent)
        if x is None or y is None or x == y:
            continue
        # Only a gm side may describe less than the tile: the rest of the tile is padding.
        smaller = src if x < y else dst
        if smaller.memory is not Memory.GM:
            return _different_tiles(op)
    return None


def flat_copy(op: Op) -> bool:
    """Whether both sides are contiguous runs of equally many elements that lie inside their
    buffers, so that their ranks do not matter."""
    src, dst = op.region("src"), op.region("dst")
    runs = all(possible(r.memory) & {Memory.GM, Memory.UB} for r in (src, dst))
    if same_shape(src, dst) or not runs:
        return False
    count = constant_value(element_count(src))
    return (
        count is not None
        and count == constant_value(element_count(dst))
        and all(is_contiguous(r) and _surely_inside(r) for r in (src, dst))
    )


def tile_axes(op: Op) -> Axes:
    """The dimensions of both sides that correspond; runs of elements have none in common."""
    src, dst = op.region("src"), op.region("dst")
    turned = any(a.name == "transpose" and v for a, v in zip(op.opdef.attrs, op.attrs, strict=True))
    if turned or flat_copy(op):
        return whole(op)
    pairs = [(p.src_dim, p.dst_dim) for p in match_copy(src, dst)]
    both = [
        (number, a, b) for number, (a, b) in enumerate(pairs) if a is not None and b is not None
    ]
    return labelled(op, {"src": {a: n for n, a, _ in both}, "dst": {b: n for n, _, b in both}})


def _surely_inside(region: Region) -> bool:
    """Whether no slice can hang over the edge: single elements, and constant slices that fit."""
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        offset, extent, limit = (constant_value(e) for e in (s.offset, s.extent, size))
        if extent == 1:
            continue
        if offset is None or extent is None or limit is None or offset + extent > limit:
            return False
    return True


def _moved(op: Op, src: Any, dst: Any) -> Any:
    """Whole regions, element for element."""
    return np.reshape(src, np.shape(dst))


def _clip(op: Op) -> Clipped:
    if op.attr("transpose"):
        return _turned(op)
    return clip_tile(op, op.attr("pad_value"))


def _turned(op: Op) -> Clipped:
    """A turned tile lies inside its buffers; of none of it there is nothing to move."""
    exists: Expr = Const(True, BOOL)
    for extent in op.region("dst").extents:
        exists = binary("and", exists, simplify(extent) > 0)
    return Clipped(op.region("src"), op.region("dst"), exists, exists, None, 0.0)


def clip_tile(op: Op, pad_value: float | None = None) -> Clipped:
    """The tile movement cut at the edge of its gm tensor."""
    src, dst = op.region("src"), op.region("dst")
    if not flat_copy(op):
        return clip_copy(src, dst, pad_value)
    exists = binary("and", starts_inside(src), starts_inside(dst))
    loads = src.memory is Memory.GM and not is_constant(exists, True)
    return Clipped(src, dst, exists, exists, dst if loads else None, pad_value or 0.0)


def _dequantizes(op: Op) -> bool:
    return (op.region("src").dtype.name, op.region("dst").dtype.name) in DEQUANTIZING


def _copied(op: Op, src: Any, dst: Any, scale: Any = None) -> Any:
    source_dtype, dtype = op.region("src").dtype, op.region("dst").dtype
    values = src.reshape(src.shape[-2:]).T if op.attr("transpose") else src
    if scale is not None:
        values = dequantized(values, scale)
    elif source_dtype != dtype:
        values = convert(values, source_dtype, dtype, "cast_rint")
    return _clamped(op, np.reshape(values, np.shape(dst)))


def _clamped(op: Op, values: Any) -> Any:
    """ReLU on request, as Fixpipe applies it."""
    if not op.attr("enable_relu"):
        return values
    return np.where(values > 0, values, np.zeros_like(values))


_COPY_ARGUMENTS: tuple[str | ArgumentDef, ...] = (
    "src",
    "dst",
    "enable_relu",
    "transpose",
    "pad_value",
    *(
        ArgumentDef(n, default=None)
        for n in ("unit_flag", "real_k", "real_n", "stride", "srcN")
    ),
    ArgumentDef("nz", default=False),
    # The rank whose instance of a symmetric tensor a side is.
    *(ArgumentDef(n, default=None) for n in ("src_pe", "dst_pe")),
    # How a GPU moves it.
    *(
        ArgumentDef(n, default=None)
        for n in ("coalesced_width", "disable_tma", "eviction_policy", "prefer_instruction",
                  "annotations", "loop_layout")
    ),
    # What a later chip is told besides.
    *(
        ArgumentDef(n, default=None)
        for n in ("l2_cache_ctrl", "sub_blockid", "data_select", "scale")
    ),
)  # fmt: skip

COPY = OpDef(
    name="copy",
    family="movement",
    doc="move a tile between memories; the part beyond a gm tensor is cut, and padded in ub",
    ascend_c="DataCopyPad, DataCopy (Nd2Nz), LoadData, Fixpipe or Copy, by direction",
    namespace="",
    operands=(packed(source("src", ANYWHERE)), packed(destination("dst", ANYWHERE))),
    attrs=(
        AttrDef("enable_relu", bool, False),
        AttrDef("transpose", bool, False),
        AttrDef("pad_value", float, None),
    ),
    parameters=_COPY_ARGUMENTS,
    placement=_copy_placement,
    axes=tile_axes,
    meaning=_copied,
    composite=Composite.YES,
    clip=_clip,
    reads_deq_scale=_dequantizes,
    paths=_ways,
    # Where there is no path at all, nothing else about the copy matters.
    dtype_rule=all_rules(_copy_direction, _copy_dtypes),
    shape_rule=all_rules(_copy_shapes, even_rows, _cube_runs),
    scratch_elsewhere=True,
)


def misaligned_rows(src: Region, dst: Region, target: Target) -> bool:
    """Whether some row of the ub side of a transfer surely starts inside a block of ub. A region
    that is one run on both sides has one row."""
    views = transfer_rows(src, dst)
    if views is None:
        return False
    local, here, there = (dst, *views[::-1]) if dst.memory is Memory.UB else (src, *views)
    if is_constant(here.rows, 1) or (here.pitch == here.columns and there.pitch == there.columns):
        return False
    pitch = constant_value(here.pitch)
    return pitch is not None and pitch % local.dtype.elements_in(target.alignment[Memory.UB]) != 0


def aligned_rows(op: Op, target: Target) -> Problem | None:
    """The DMA starts every row of UB at a multiple of 32 bytes
    (docs/hardware/units.md#rows-of-ub)."""
    src, dst = op.region("src"), op.region("dst")
    word = "copy" if op.opdef.family == "movement" else op.opdef.called
    local = dst if dst.memory is Memory.UB else src
    name = local.buffer.name
    views = transfer_rows(src, dst)
    if views is None:
        message = f"{word}: `{src.buffer.name}` and `{dst.buffer.name}` do not have the same rows"
        hint = "slice one side so that both describe the same tile"
        return Problem("shape-mismatch", message, None, hint)
    here = views[1] if local is dst else views[0]
    if misaligned_rows(src, dst, target):
        pitch = constant_value(here.pitch) or 0
        step = target.alignment[Memory.UB]
        multiple = local.dtype.elements_in(step)
        return Problem(
            "row-alignment",
            f"{word}: rows of `{name}` are {pitch * local.dtype.bits // 8} bytes apart, "
            f"but transfers start every row at a multiple of {step} bytes",
            None,
            f"the first column of a tile takes a column as it comes: put T.alloc_ub((rows, "
            f"{multiple}), dtype)[:, 0] in the place of `{name}`"
            if is_constant(here.columns, 1)
            else f"give `{name}` a last dimension that is a multiple of {multiple}; "
            "copies cut at the edge of the gm tensor by themselves",
        )
    return None


def rows_of_elements(op: Op, target: Target) -> Problem | None:
    """The cube core moves rows whose elements lie one after another in gm; no transfer of it takes
    them from, or to, places that lie apart (docs/hardware/units.md#transfers)."""
    src, dst = op.region("src"), op.region("dst")
    if transfer_rows(src, dst) is not None:
        return None
    outside, local = (src, dst) if src.memory is Memory.GM else (dst, src)
    return Problem(
        "strided-operand",
        f"copy: the elements of a row of `{outside.buffer.name}` lie apart in gm, but transfers of "
        f"the cube core between gm and {local.memory.value} move rows of consecutive elements",
        None,
        "copy between gm and a tile in ub, which takes such elements, and between the tile and "
        f"`{local.buffer.name}`",
    )


def _movement(
    name: str,
    doc: str,
    api: str,
    path: Path,
    *,
    attrs: tuple[AttrDef, ...] = (),
    meaning: Callable[..., Any] = _moved,
    dtype_rule: Rule = same_dtype,
    shape_rule: Rule = same_size,
    clip: Callable[[Op], Clipped] | None = None,
) -> OpDef:
    return OpDef(
        name=name,
        family="movement",
        clip=clip,
        doc=doc,
        ascend_c=api,
        namespace=None,
        operands=(
            packed(source("src", frozenset(path[:1]))),
            packed(destination("dst", frozenset(path[1:]))),
        ),
        attrs=attrs,
        placement=on(*_MOVED_BY[path]),
        axes=tile_axes,
        meaning=meaning,
        dtype_rule=dtype_rule,
        shape_rule=shape_rule,
    )


def _load_l0(op: Op, src: Any, dst: Any) -> Any:
    return (
        src.reshape(src.shape[-2:]).T.reshape(dst.shape)
        if op.attr("transpose")
        else (src.reshape(dst.shape))
    )


def _into_table(op: Op, src: Any, dst: Any) -> Any:
    return np.reshape(src, np.shape(dst)).astype(op.region("dst").dtype.compute)


def _leave_l0c(op: Op, src: Any, dst: Any) -> Any:
    source_dtype, dtype = op.region("src").dtype, op.region("dst").dtype
    values = src if source_dtype == dtype else convert(src, source_dtype, dtype, "cast_rint")
    return _clamped(op, np.reshape(values, np.shape(dst)))


def _load_clip(op: Op) -> Clipped:
    src, dst = op.region("src"), op.region("dst")
    yes = Const(True, BOOL)
    spill = spill_of_load(src, dst)
    return Clipped(src, dst, yes, yes, None, op.attr("pad_value"), spill)


def is_fractals(region: Region) -> bool:
    """Whether a region of gm is whole fractals of a matrix that is stored in NZ order: [columns of
    fractals, rows of fractals, 16, elements of 32 bytes] (docs/language/rules.md#fractals)."""
    fractal = (FRACTAL_ROWS, k0_elements(region.dtype))
    return (
        Memory.GM in possible(region.memory)
        and len(region.dims) >= 4
        and all(s.stride == 1 for s in region.dims)
        and all(
            is_constant(s.offset, 0) and is_constant(s.extent, n) and is_constant(size, n)
            for s, size, n in zip(region.dims[-2:], region.buffer.shape[-2:], fractal, strict=True)
        )
    )


def _fractals_shape(op: Op, target: Target) -> Problem | None:
    """src is whole fractals of a matrix in NZ order, dst the matrix they make, from a column of
    fractals on."""
    src, dst = op.region("src"), op.region("dst")
    if not is_fractals(src) or not matrix_of_fractals(src, dst):
        return _different_tiles(op)
    terms, start = linear_form(dst.dims[-1].offset)
    width = k0_elements(dst.dtype)
    if any(n % width for n in (start, *terms.values())):
        message = f"copy: dst `{dst.buffer.name}` starts inside a fractal of {width} columns"
        hint = f"start at a multiple of {width} columns"
        return Problem("fractal-alignment", message, "dst", hint)
    return None


def matrix_of_fractals(src: Region, dst: Region) -> bool:
    """Whether a region of two dimensions is as large as the matrix that fractals make; the others
    are 1 on both sides."""
    if len(dst.dims) < 2 or not all(
        is_constant(e, 1) for e in (*src.extents[:-4], *dst.extents[:-2])
    ):
        return False
    columns, rows, height, width = src.extents[-4:]
    made = (simplify(rows * height), simplify(columns * width))
    return made == tuple(map(simplify, dst.extents[-2:]))


def _from_fractals(op: Op, src: Any, dst: Any) -> Any:
    columns, rows, height, width = src.shape[-4:]
    tiles = np.reshape(src, (columns, rows * height, width))
    return np.reshape(np.swapaxes(tiles, 0, 1), np.shape(dst))


TRANSPOSE = (AttrDef("transpose", bool, False),)

COPY_L0C_GM = _movement(
    "copy_l0c_gm",
    "accumulator to gm rows, converting and clamping at zero on request",
    "Fixpipe",
    (Memory.L0C, Memory.GM),
    attrs=(AttrDef("enable_relu", bool, False),),
    meaning=_leave_l0c,
    dtype_rule=_copy_dtypes,
    shape_rule=all_rules(same_size, rows_of_elements),
)


def _whole_columns_of_fractals(op: Op, target: Target) -> Problem | None:
    """dst ends with a column of fractals, or with its matrix."""
    dst = op.region("dst")
    last, size = dst.dims[-1], dst.buffer.shape[-1]
    end = simplify(last.offset + last.extent)
    terms, start = linear_form(end)
    width = k0_elements(dst.dtype)
    whole = all(n % width == 0 for n in (start, *terms.values()))
    if whole or constant_value(simplify(end - size)) == 0:
        return None
    message = f"copy: a part of `{dst.buffer.name}` ends inside a fractal of {width} columns, "
    message += "which the copy from l0c fills to its end"
    hint = f"end parts at multiples of {width} columns"
    return Problem("fractal-alignment", message, "dst", hint)


COPY_L0C_L1 = _movement(
    "copy_l0c_l1",
    "accumulator to an l1 matrix, narrowing and clamping at zero on request",
    "Fixpipe",
    (Memory.L0C, Memory.L1),
    attrs=(AttrDef("enable_relu", bool, False),),
    meaning=_leave_l0c,
    dtype_rule=_copy_dtypes,
    shape_rule=all_rules(same_size, _whole_columns_of_fractals),
)


def _padded(op: Op, src: Any, dst: Any, left: Any) -> Any:
    """Each row behind `left` pad values, and as many behind it as the row of dst has room for."""
    rows = np.full(np.shape(dst), op.attr("pad_value"), np.asarray(src).dtype)
    width = np.shape(src)[-1]
    rows[..., int(left) : int(left) + width] = np.reshape(src, (*rows.shape[:-1], width))
    return rows


def _rows_of_both(op: Op) -> Axes:
    """The dimensions of both sides that correspond, but for the last."""
    rows = {n: [d for d in all_dims(r) if d != len(r.dims) - 1] for n, r in regions(op)}
    return labelled(op, {n: {d: i for i, d in enumerate(dims)} for n, dims in rows.items()})


def _padded_rows(op: Op, target: Target) -> Problem | None:
    """src and dst have as many rows, each along their last dimension, and those of dst start at
    whole blocks."""
    src, dst = op.region("src"), op.region("dst")
    views = row_view(src), row_view(dst)
    if any(
        view is None or simplify(view.columns - region.dims[-1].extent) != ZERO
        for view, region in zip(views, (src, dst), strict=True)
    ):
        return op.problem("src", "shape-mismatch", "has no rows", "give both sides rows")
    here, there = views
    assert here is not None and there is not None, "just tested"
    if simplify(here.rows - there.rows) != ZERO:
        return op.problem("src", "shape-mismatch", "has other rows", "give both as many rows")
    unit, pitch = dst.dtype.elements_in(target.alignment[Memory.UB]), constant_value(there.pitch)
    if is_constant(there.rows, 1) or pitch is None or pitch % unit == 0:
        return None
    found = f"has rows {pitch * dst.dtype.size} bytes apart"
    return op.problem("dst", "row-alignment", found, f"give it a multiple of {unit} columns")


# Rows of a window that begins before its tensor, or ends behind it: at most a block on either side
# (docs/hardware/units.md#transfers).
COPY_GM_UB_PADDED = replace(
    _movement(
        "copy_gm_ub_padded",
        "gm to ub, each row with pad values before and behind it",
        "DataCopyPad",
        (Memory.GM, Memory.UB),
        attrs=(AttrDef("pad_value", float, 0.0),),
        meaning=_padded,
        shape_rule=_padded_rows,
    ),
    operands=(source("src", frozenset({Memory.GM})), destination("dst"), scalar("left")),
    axes=_rows_of_both,
)


def _one_matrix_cleared(op: Op, target: Target) -> Problem | None:
    """One matrix of several is cleared at a time."""
    if all(is_constant(e, 1) for e in op.region("dst").extents[:-2]):
        return None
    return op.problem("dst", "shape-mismatch", "is several matrices", "clear one after another")


MOVEMENTS = (
    _movement(
        "copy_gm_ub",
        "gm to ub, rows at any gm pitch; pads the last block of each row",
        "DataCopyPad",
        (Memory.GM, Memory.UB),
        attrs=(AttrDef("pad_value", float, 0.0),),
        clip=_load_clip,
        shape_rule=all_rules(same_size, aligned_rows),
    ),
    COPY_GM_UB_PADDED,
    _movement(
        "copy_ub_gm",
        "ub to gm, rows at any gm pitch",
        "DataCopyPad",
        (Memory.UB, Memory.GM),
        shape_rule=all_rules(same_size, aligned_rows),
    ),
    _movement(
        "copy_gm_l1",
        "gm rows to an l1 matrix in fractal order",
        "DataCopy (Nd2Nz)",
        (Memory.GM, Memory.L1),
        shape_rule=all_rules(same_size, rows_of_elements),
    ),
    replace(
        _movement(
            "copy_gm_l1_nz",
            "fractals of gm, in the order of l1, to the l1 matrix that they make",
            "DataCopy",
            (Memory.GM, Memory.L1),
            meaning=_from_fractals,
            shape_rule=_fractals_shape,
        ),
        axes=whole,
    ),
    _movement(
        "copy_l1_l0a",
        "l1 matrix to the left operand register",
        "LoadData",
        (Memory.L1, Memory.L0A),
        attrs=TRANSPOSE,
        meaning=_load_l0,
        shape_rule=_copy_shapes,
    ),
    _movement(
        "copy_l1_l0b",
        "l1 matrix to the right operand register",
        "LoadData",
        (Memory.L1, Memory.L0B),
        attrs=TRANSPOSE,
        meaning=_load_l0,
        shape_rule=_copy_shapes,
    ),
    _movement(
        "copy_l1_bt",
        "l1 vector to a bias table; float16 becomes float32",
        "DataCopy",
        (Memory.L1, Memory.BT),
        meaning=_into_table,
        dtype_rule=_copy_dtypes,
    ),
    COPY_L0C_GM,
    COPY_L0C_L1,
    OpDef(
        name="copy_ub_ub",
        family="movement",
        elementwise=True,
        may_alias=True,
        doc="ub to ub, same type, rows at any pitch of 32 bytes",
        ascend_c="DataCopy / Copy",
        namespace=None,
        operands=(source("src", UB), destination("dst", UB)),
        placement=on(*_MOVED_BY[Memory.UB, Memory.UB]),
        axes=elements,
        meaning=_moved,
        dtype_rule=same_dtype,
        shape_rule=same_size,
    ),
    OpDef(
        name="clear_l1",
        family="movement",
        doc="zero an l1 matrix with its padding, or a part of one in whole blocks of 32 bytes",
        ascend_c="InitConstValue",
        namespace=None,
        operands=(
            destination("dst", L1, FLOAT16, BFLOAT16, FLOAT32, INT32, INT4, INT8, UINT8, INT16),
        ),
        placement=on(Core.CUBE, Pipe.MTE2),
        axes=whole,
        meaning=lambda op, dst: np.zeros_like(dst),
        shape_rule=_one_matrix_cleared,
    ),
)

OPS = (COPY, *MOVEMENTS)
