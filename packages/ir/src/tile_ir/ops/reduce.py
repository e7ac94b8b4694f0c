"""Reductions along one axis (docs/language/rules.md#reductions); `broadcast` has the inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    UINT8,
)  # fmt: skip
from tile_ir.expr import Const, constant_value, is_constant
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    REPEAT_BYTES,
    active_dims,
    is_contiguous,
    trailing_matrix,
)
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import ArgumentDef, AttrDef, Axes, Composite, OpDef, Problem, Scratch
from tile_ir.ops.axes import labelled, whole
from tile_ir.ops.extrema import greatest, least, maximum, minimum
from tile_ir.ops.rules import (
    FLOATS,
    UB,
    VECTOR,
    all_rules,
    elements_bound,
    largest_matrix,
    one_matrix,
    same_dtype,
    scratch_operand,
    shape_text,
    source,
    text,
    updated,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.scalars.affine import simplify
from tile_ir.target import Target

# Fewer rows than these, of five to seven repeats each, are reduced in blocks before they are folded
# (`few` in reduce.h of the device header).
ROWS_IN_BLOCKS = 24
_CONVERTED = (BFLOAT16, INT32, INT16, INT8, UINT8)


def reduced_axis(op: Op) -> int:
    """0 to reduce rows into one row, 1 to reduce columns into one column."""
    rank = len(op.region("src").dims)
    return 1 if rank == 1 or op.attr("dim") in (1, -1) else 0


def check_axis(op: Op, target: Target) -> Problem | None:
    """`dim` is one of the last two dimensions."""
    src, dim = op.region("src"), op.attr("dim")
    rank = len(src.dims)
    legal = (0, -1) if rank == 1 else (0, 1, -1, -2)
    if dim not in legal or not all(is_constant(e, 1) for e in src.extents[:-3]):
        return Problem(
            "reduce-axis",
            f"{op.opdef.called}: dim is {dim} for a buffer of rank {rank}, expected one of "
            + ", ".join(map(str, legal)),
            "dim",
            "dims count the last two axes"
            + ", or all if `out` has a place for every result" * (rank > 2),
        )
    return None


def _result_shape(op: Op, target: Target) -> Problem | None:
    """src is one matrix in rows of whole blocks; dst is one run as long as the kept dimension."""
    return one_matrix(op, "src", target) or _result(op, target)


def _result(op: Op, target: Target) -> Problem | None:
    src, dst = op.region("src"), op.region("dst")
    view = trailing_matrix(src)
    expected = simplify(view.rows if reduced_axis(op) == 1 else view.columns)
    real = [simplify(e) for e in dst.extents if not is_constant(e, 1)]
    if real != [expected] and not (not real and is_constant(expected, 1)):
        found, wanted = shape_text(dst), constant_value(expected)
        return Problem(
            "shape-mismatch",
            f"{op.opdef.called}: dst `{dst.buffer.name}` has {found}, but reducing "
            f"`{src.buffer.name}` {_sizes(src)} along dim {op.attr('dim')} gives "
            + ("another run-time size" if wanted is None else str(wanted)),
            "dst",
            None if wanted is None else _allocate(src, dst, wanted),
        )
    if not is_contiguous(dst):
        hint = "allocate dst for the result alone"
        return op.problem("dst", "shape-mismatch", "is not contiguous", hint)
    return None


def _allocate(src: Region, dst: Region, wanted: object) -> str:
    one = f"allocate `{dst.buffer.name}` with the shape ({wanted},)"
    shape = src.buffer.static_shape() or ()
    if len(shape) < 3 or shape[-3] == 1:
        return one
    return f"{one} for the first matrix, or ({shape[-3]}, {wanted}) for all"


def _sizes(region: Region) -> str:
    return f"[{', '.join(text(e) for e in region.extents[-2:])}]"


def _matrix(values: Any) -> Any:
    return values.reshape(-1, values.shape[-1]) if values.ndim != 2 else values


def reduction_axes(op: Op) -> Axes:
    """The dimension that is kept; the reduced one is needed whole."""
    src, dst = op.region("src"), op.region("dst")
    kept, result = len(src.dims) - 1 - reduced_axis(op), active_dims(dst)
    if kept < 0 or len(result) != 1:
        return whole(op)
    return labelled(op, {"src": {kept: 0}, "dst": {result[0]: 0}})


_REDUCTION_ARGUMENTS: tuple[str | ArgumentDef, ...] = (
    ArgumentDef("buffer", ("src",)),
    ArgumentDef("out", ("dst",), None),
    "dim",
    "clear",
    ArgumentDef("real_shape", default=None),
    ArgumentDef("keepdim", default=None),
    # How threads of a GPU share the work.
    *(ArgumentDef(name, default=None) for name in ("batch", "nan_propagate", "annotations")),
)  # fmt: skip


def _reduction(
    name: str, fn: Callable[..., Any], combine: Callable[..., Any], doc: str, sums: bool = False
) -> tuple[OpDef, OpDef]:
    """The operation, and the composite for types and rows that it does not take."""

    def meaning(op: Op, src: Any, dst: Any, _scratch: Any = None) -> Any:
        with np.errstate(all="ignore"):
            integer = np.issubdtype(src.dtype, np.integer)
            wide = np.asarray(_matrix(src), np.int64 if integer else np.float64)
            result = fn(wide, axis=reduced_axis(op)).astype(src.dtype).reshape(dst.shape)
            return result if op.attr("clear") else combine(dst, result)

    attrs = (AttrDef("dim", int, -1), AttrDef("clear", bool, True))
    direct = OpDef(
        name=name,
        family="reduce",
        doc=doc,
        ascend_c="WholeReduce, BlockReduce and binary folds",
        namespace="",
        operands=(source("src", UB, *FLOATS), updated("dst"), scratch_operand()),
        attrs=attrs,
        parameters=_REDUCTION_ARGUMENTS,
        variant=lambda op: composed_reduction(name, op.region("src")),
        placement=VECTOR,
        axes=reduction_axes,
        meaning=meaning,
        dtype_rule=same_dtype,
        shape_rule=all_rules(check_axis, _result_shape),
        scratch=lambda op: _reduce_scratch(op, sums),
        overwrites=lambda op: Const(bool(op.attr("clear")), BOOL),
        rate=_rate,
        instructions=lambda op: 2 if op.attr("clear") else 3,
        staged=True,
    )
    composed = replace(
        direct,
        name=f"{name}_composed",
        spelling=name,
        doc=f"{doc}; of any type, and of rows that do not start at blocks of 32 bytes",
        ascend_c="Cast, Gather, and folds of halves",
        namespace=None,
        operands=(source("src", UB, *FLOATS, *_CONVERTED), updated("dst")),
        parameters=(),
        variant=None,
        composite=Composite.YES,
        shape_rule=all_rules(check_axis, _composed_shape),
        scratch=lambda op: (),
        rate=(128 / 14, 64 / 14),
        instructions=lambda op: 7,
        staged=False,
    )
    return direct, composed


def composed_reduction(name: str, src: Region) -> str:
    """The operation that reduces such a region: the composite where the direct one cannot."""
    static = src.static_extents() is not None
    packed = static and src.dtype in FLOATS and len(src.dims) > 1 and is_packed(src)
    return f"{name}_composed" if src.dtype in _CONVERTED or packed else name


def _composed_shape(op: Op, target: Target) -> Problem | None:
    """src is one matrix of static shape, in rows of whole blocks or in one run; dst is one run as
    long as the kept dimension."""
    src = op.region("src")
    if src.static_extents() is None:
        hint = "reduce the whole tile, or cast it to float32 first"
        return op.problem("src", "shape-mismatch", f"of {src.dtype} has a run-time shape", hint)
    problem = one_matrix(op, "src", target)
    if problem is not None and not (problem.slug == "row-alignment" and is_contiguous(src)):
        return problem
    return _result(op, target)


def _reduce_scratch(op: Op, sums: bool) -> tuple[Scratch, ...]:
    """Scratch for partial results, in float32 elements.

    * 256 bytes for each row folded onto itself, or one value for each of its blocks where there is
      room.
    * The row sums besides, where sums of float16 run in float32.
    * 32 bytes for each row of one repeat of floats, whose blocks are reduced first.
    * A row of float32, where rows of float16 are added up.

    With clear=False the new results stand in front, until they are combined with the old ones.
    """
    src = op.region("src")
    rows, columns = largest_matrix(src)
    half_sum = sums and src.dtype is FLOAT16
    if reduced_axis(op) == 1:
        row = REPEAT_BYTES // FLOAT32.size
        if half_sum:
            work = rows * row + _blocks(rows)
        elif columns * src.dtype.size > REPEAT_BYTES:
            work = rows * row
        else:
            work = rows * 8 if _in_blocks(op) else 0
    else:
        work = _blocks(columns) if half_sum else 0
    kept = 0 if op.attr("clear") else kept_results(op)
    if not work + kept:
        return ()
    more = max(work, _values_of_blocks(op))
    return (Scratch(Memory.UB, FLOAT32, more + kept, work + kept),)


def by_blocks(rows: int, columns: int) -> bool:
    """Whether rows of floats are sooner reduced to a value for each block of 32 bytes than folded
    lane by lane (`by_blocks` in reduce.h of the device header)."""
    lanes = REPEAT_BYTES // FLOAT32.size
    few = columns > 4 * lanes and rows < ROWS_IN_BLOCKS
    return columns % lanes == 0 and (columns >= 8 * lanes or few)


def _values_of_blocks(op: Op) -> int:
    """How many blocks of 32 bytes a matrix has whose blocks are reduced to a value each before rows
    are folded (`by_blocks` in reduce.h of the device header); 0 for all others."""
    src = op.region("src")
    rows, columns = largest_matrix(src)
    fixed = constant_value(trailing_matrix(src).columns)
    if reduced_axis(op) == 0 or src.dtype is not FLOAT32 or fixed is None:
        return 0
    return rows * columns // 8 if by_blocks(rows, columns) else 0


def blocks_fit(op: Op) -> bool:
    """Whether the operation's scratch has room for a value of every block, and that is sooner."""
    values, scratch = _values_of_blocks(op), op.scratch
    return (
        values > 0 and scratch is not None and values + kept_results(op) <= elements_bound(scratch)
    )


def _in_blocks(op: Op) -> bool:
    """Whether rows of floats are reduced to eight values first (`finish_in_blocks`)."""
    columns = largest_matrix(op.region("src"))[1]
    return op.region("src").dtype is FLOAT32 and columns * FLOAT32.size >= REPEAT_BYTES


def _narrow(op: Op) -> bool:
    """Whether rows have no more floats than a block (`finish_narrow`)."""
    columns = largest_matrix(op.region("src"))[1]
    return op.region("src").dtype is FLOAT32 and columns * FLOAT32.size <= BLOCK_BYTES


def _rate(op: Op) -> tuple[float, float]:
    """docs/hardware/time_model.md#vector-rates: WholeReduce, and BlockReduce of floats."""
    in_blocks = reduced_axis(op) == 0 or _in_blocks(op) or _narrow(op) or _values_of_blocks(op) > 0
    return 128 / 7, 64 if in_blocks else 64 / 7


def kept_results(op: Op) -> int:
    """Elements of scratch in front of the work area that hold results before combination."""
    rows, columns = largest_matrix(op.region("src"))
    return 0 if op.attr("clear") else _blocks(rows if reduced_axis(op) == 1 else columns)


def _blocks(elements: int) -> int:
    """Elements rounded up so that 16-bit and 32-bit values both fill whole 32-byte blocks."""
    return -(-elements // 16) * 16


REDUCTIONS = (
    *_reduction(
        "reduce_sum",
        lambda a, axis: np.sum(a, axis=axis),
        lambda a, b: a + b,
        "dst = sum of src along dim; with clear=False added to dst",
        sums=True,
    ),
    *_reduction(
        "reduce_max",
        greatest,
        maximum,
        "dst = maximum of src along dim",
    ),
    *_reduction(
        "reduce_min",
        least,
        minimum,
        "dst = minimum of src along dim",
    ),
)


def is_packed(region: Region) -> bool:
    """Whether a matrix has rows that surely do not start at whole blocks."""
    view = trailing_matrix(region)
    pitch = constant_value(view.pitch)
    return not is_constant(view.rows, 1) and pitch is not None and bool(
        pitch * region.dtype.size % BLOCK_BYTES
    )  # fmt: skip


OPS = REDUCTIONS
