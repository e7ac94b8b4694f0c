"""One value per row or per column against a whole matrix, and the raw block broadcast
(docs/language/rules.md#rows-and-columns)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import DType
from tile_ir.expr import constant_value
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    MAX_REPEATS,
    REPEAT_BYTES,
    active_dims,
    element_count,
    is_contiguous,
    trailing_matrix,
)
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, AttrDef, Axes, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.axes import labelled, whole
from tile_ir.ops.extrema import maximum, minimum
from tile_ir.ops.rules import (
    ARITHMETIC,
    FILLABLE,
    FLOATS,
    UB,
    VECTOR,
    destination,
    elements_bound,
    largest_matrix,
    one_matrix,
    same_dtype,
    scratch_operand,
    shape_text,
    source,
    updated,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target

# The groups of banks of ub, once: what lies so many bytes further is in the same group.
ALL_GROUPS = 2 * REPEAT_BYTES


def column_scratch(region: Region) -> Scratch:
    """A block for each of ceil8(rows) rows, and one for the values behind the last whole block of
    the column, if there are any."""
    rows, block = largest_matrix(region)[0], BLOCK_BYTES // region.dtype.size
    fixed = constant_value(trailing_matrix(region).rows) is not None
    tail = 0 if fixed and rows % block == 0 else 1
    return Scratch(Memory.UB, region.dtype, (-(-rows // 8) * 8 + tail) * block)


def _elements_apart(op: Op) -> int:
    """Elements of scratch that keep each row out of the bank group of its value's block
    (`with_column_apart` in expand.h of the device header). They serve rows a multiple of 512 bytes
    apart, with no more strips of 256 bytes than there are rows. 0 for all others."""
    src = op.region("src0")
    rows, columns = largest_matrix(src)
    matrix, size = trailing_matrix(src), src.dtype.size
    pitch, fixed = constant_value(matrix.pitch), constant_value(matrix.rows) is not None
    strips = -(-columns * size // REPEAT_BYTES)
    if pitch is None or pitch * size % ALL_GROUPS or not fixed or rows < max(8, strips):
        return 0
    return ((-(-rows // 8) * 8 + 1) * ALL_GROUPS + REPEAT_BYTES - BLOCK_BYTES) // size


def blocks_apart(op: Op) -> bool:
    """Whether the operation's scratch has room for that."""
    most, scratch = _elements_apart(op), op.scratch
    return most > 0 and scratch is not None and most <= elements_bound(scratch)


def is_expanded(op: Op) -> bool:
    """Whether src1 holds a block per row already, as `brcb_experiment` makes it."""
    src0, src1 = op.region("src0"), op.region("src1")
    rows = src0.extents[-2] if len(src0.dims) > 1 else None
    block = BLOCK_BYTES // src1.dtype.size
    return (
        len(src1.dims) > 1
        and src1.extents[-2] == rows
        and constant_value(src1.extents[-1]) == block
        and constant_value(src1.buffer.shape[-1]) == block
    )


def _matrices(op: Op, target: Target) -> Problem | None:
    """dst and src0 are matrices of one size."""
    dst, src0 = op.region("dst"), op.region("src0")
    for name in ("dst", "src0"):
        if len(op.region(name).dims) < 2:
            found = "has one dimension, expected rows and columns"
            hint = "allocate it with two dimensions, or slice rows and columns"
            return op.problem(name, "shape-mismatch", found, hint)
        problem = one_matrix(op, name, target)
        if problem is not None:
            return problem
    if dst.extents[-2:] != src0.extents[-2:]:
        found = f"has {shape_text(src0)}, but dst `{dst.buffer.name}` has {shape_text(dst)}"
        return op.problem("src0", "shape-mismatch", found, "give both the same rows and columns")
    return None


def _row_shapes(op: Op, target: Target) -> Problem | None:
    """dst and src0 are matrices of one size; src1 has a value or a block of 32 bytes for each
    row."""
    problem = _matrices(op, target)
    if problem is not None:
        return problem
    dst, src1 = op.region("dst"), op.region("src1")
    if is_expanded(op):
        return _contiguous(op, "src1")
    rows = dst.extents[-2]
    if element_count(src1) != rows:
        block = BLOCK_BYTES // src1.dtype.size
        found = f"has {shape_text(src1)}, expected one value per row of dst `{dst.buffer.name}` "
        found += f"{shape_text(dst)}, or a block of {block}"
        hint = "src1 is [rows], [rows, 1] or what T.tile.brcb_experiment made"
        return op.problem("src1", "shape-mismatch", found, hint)
    return _contiguous(op, "src1")


def row_axes(op: Op) -> Axes:
    """Rows of the matrices, with a value or a block of src1 for each."""
    dst, src0, src1 = (op.region(n) for n in ("dst", "src0", "src1"))
    given = (len(src1.dims) - 2,) if is_expanded(op) else active_dims(src1)
    if len(given) != 1:
        return whole(op)
    rows = {n: {len(r.dims) - 2: 0} for n, r in (("dst", dst), ("src0", src0))}
    return labelled(op, {**rows, "src1": {given[0]: 0}})


def column_axes(op: Op) -> Axes:
    """Rows of the matrices, each with all values of src1; columns with one value each."""
    dst, src0, src1 = (op.region(n) for n in ("dst", "src0", "src1"))
    given = active_dims(src1)
    if len(given) != 1:
        return whole(op)
    matrices = {
        n: {len(r.dims) - 2: 0, len(r.dims) - 1: 1} for n, r in (("dst", dst), ("src0", src0))
    }
    return labelled(op, {**matrices, "src1": {given[0]: 1}})


def _column_shapes(op: Op, target: Target) -> Problem | None:
    """dst and src0 are matrices of one size; src1 has a value for each column."""
    problem = _matrices(op, target)
    if problem is not None:
        return problem
    dst, src1 = op.region("dst"), op.region("src1")
    if element_count(src1) != dst.extents[-1]:
        found = f"has {shape_text(src1)}, expected one value per column of dst `{dst.buffer.name}` "
        found += f"{shape_text(dst)}"
        return op.problem("src1", "shape-mismatch", found, "src1 is [columns] or [1, columns]")
    return _contiguous(op, "src1")


def _contiguous(op: Op, name: str) -> Problem | None:
    region = op.region(name)
    if is_contiguous(region):
        return None
    hint = "copy the slice to a buffer of its own first"
    return op.problem(name, "strided-operand", "is not contiguous", hint)


def _scratch(op: Op) -> tuple[Scratch, ...]:
    if is_expanded(op):
        return ()
    one, apart = column_scratch(op.region("dst")), _elements_apart(op)
    return (replace(one, elements=apart, least=one.elements) if apart else one,)


def _row_wise(fn: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def meaning(op: Op, dst: Any, a: Any, b: Any, *_rest: Any) -> Any:
        column = b[..., :1] if is_expanded(op) else b
        with np.errstate(all="ignore"):
            result = fn(a.reshape(a.shape[-2:]), column.reshape(column.size, 1))
            return result.astype(dst.dtype).reshape(dst.shape)

    return meaning


def _row_expand(
    name: str, fn: Callable[[Any, Any], Any], dtypes: tuple[DType, ...], sign: str, api: str
) -> OpDef:
    return OpDef(
        name=name,
        family="expand",
        doc=f"dst[r, c] = src0[r, c] {sign} src1[r]; src1 has a value or a block of 32 bytes per "
        "row, and tmp is not needed",
        ascend_c=f"Brcb, {api}",
        operands=(
            destination("dst", UB, *dtypes),
            source("src0"),
            source("src1"),
            OperandDef("tmp", Access.READ_WRITE, UB, optional=True),
            scratch_operand(),
        ),
        placement=VECTOR,
        axes=row_axes,
        meaning=_row_wise(fn),
        may_alias=True,
        dtype_rule=same_dtype,
        shape_rule=_row_shapes,
        scratch=_scratch,
        rate=(64, 32),
        instructions=lambda op: 3,
        chained=False,
    )


def _column_wise(fn: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def meaning(op: Op, dst: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            result = fn(a.reshape(a.shape[-2:]), b.reshape(1, b.size))
            return result.astype(dst.dtype).reshape(dst.shape)

    return meaning


def _column_expand(
    name: str, fn: Callable[[Any, Any], Any], dtypes: tuple[DType, ...], sign: str, api: str
) -> OpDef:
    return OpDef(
        name=name,
        family="expand",
        doc=f"dst[r, c] = src0[r, c] {sign} src1[c]; src1 has a value per column",
        ascend_c=api,
        operands=(destination("dst", UB, *dtypes), source("src0"), source("src1")),
        placement=VECTOR,
        meaning=_column_wise(fn),
        axes=column_axes,
        may_alias=True,
        dtype_rule=same_dtype,
        shape_rule=_column_shapes,
        instructions=lambda op: 2,
        chained=False,
    )


def _brcb_sizes(op: Op, target: Target) -> Problem | None:
    """`repeat` is 0 to 255; each repeat reads 8 elements and writes 8 blocks, both in one run."""
    repeat, step, pitch = (op.attr(n) for n in ("repeat", "dst_blk_stride", "dst_rep_stride"))
    dst = op.region("dst")
    if not 0 <= repeat <= MAX_REPEATS:
        message = f"{op.opdef.called}: repeat is {repeat}, expected 0 to {MAX_REPEATS}"
        hint = "split the call into several"
        return Problem("attribute-value", message, "repeat", hint)
    for name, value, least in (("dst_blk_stride", step, 1), ("dst_rep_stride", pitch, 0)):
        if not least <= value <= 65535:
            message = f"{op.opdef.called}: {name} is {value}, expected {least} to 65535"
            return Problem("attribute-value", message, name)
    block = BLOCK_BYTES // dst.dtype.size
    written = ((repeat - 1) * pitch + 7 * step + 1) * block if repeat else 0
    for name, needed in (("dst", written), ("src", 8 * repeat)):
        region = op.region(name)
        if needed > elements_bound(region):
            found = f"has {shape_text(region)}, but {needed} are used"
            hint = "repeat counts groups of 8 elements of src"
            return op.problem(name, "shape-mismatch", found, hint)
    return _contiguous(op, "dst") or _contiguous(op, "src")


def _brcb(op: Op, dst: Any, src: Any) -> Any:
    flat, values = dst.reshape(-1).copy(), src.reshape(-1)
    block = BLOCK_BYTES // op.region("dst").dtype.size
    for k in range(8 * op.attr("repeat")):
        place = k // 8 * op.attr("dst_rep_stride") + k % 8 * op.attr("dst_blk_stride")
        flat[place * block : (place + 1) * block] = values[k]
    return flat.reshape(dst.shape)


# What stands between a matrix and its rows or columns: meaning, types, sign, instruction.
_BETWEEN: dict[str, tuple[Callable[[Any, Any], Any], tuple[DType, ...], str, str]] = {
    "add": (lambda a, b: a + b, ARITHMETIC, "+", "Add"),
    "sub": (lambda a, b: a - b, ARITHMETIC, "-", "Sub"),
    "mul": (lambda a, b: a * b, ARITHMETIC, "*", "Mul"),
    "div": (lambda a, b: a / b, FLOATS, "/", "Div"),
    "max": (maximum, ARITHMETIC, "max", "Max"),
    "min": (minimum, ARITHMETIC, "min", "Min"),
}

OPS = (
    *(_row_expand(f"row_expand_{name}", *facts) for name, facts in _BETWEEN.items()),
    *(
        _row_expand(f"row_expand_{name}_experiment", *_BETWEEN[name])
        for name in ("mul", "sub", "div")
    ),
    *(_column_expand(f"column_expand_{name}", *facts) for name, facts in _BETWEEN.items()),
    OpDef(
        name="brcb_experiment",
        family="expand",
        doc="each of the first repeat * 8 elements of src fills a block of 32 bytes of dst; "
        "strides count blocks",
        ascend_c="Brcb",
        operands=(updated("dst", UB, *FILLABLE), source("src")),
        attrs=(
            AttrDef("repeat", int),
            AttrDef("dst_blk_stride", int),
            AttrDef("dst_rep_stride", int),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_brcb,
        dtype_rule=same_dtype,
        shape_rule=_brcb_sizes,
    ),
)
