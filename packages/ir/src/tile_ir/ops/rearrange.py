"""Elements in another order: a matrix transposed, or its blocks of 32 bytes by columns
(docs/language/rules.md#rearranging)."""

from __future__ import annotations

from typing import Any

from tile_ir.costs.timing import FULL_RATE
from tile_ir.layout.footprint import k0_elements
from tile_ir.layout.geometry import MAX_REPEATS, REPEAT_BYTES, is_contiguous
from tile_ir.nodes import Op
from tile_ir.opdef import Axes, OpDef, Problem
from tile_ir.ops.axes import labelled
from tile_ir.ops.rules import (
    FILLABLE,
    UB,
    VECTOR,
    destination,
    largest_matrix,
    one_matrix,
    row_alignment,
    same_dtype,
    shape_text,
    source,
    static_matrix,
)
from tile_ir.target import Target

SIDE = 16  # rows and columns that one instruction turns


def _sizes(op: Op, target: Target) -> Problem | None:
    """Both sides are matrices of fixed sizes in multiples of 16, one the other's turned, in two
    buffers."""
    src, dst = op.region("src"), op.region("dst")
    for name in ("src", "dst"):
        problem = one_matrix(op, name, target)
        if problem is not None:
            return problem
    size, turned = static_matrix(src), static_matrix(dst)
    if size is None or turned is None or len(src.dims) < 2 or len(dst.dims) < 2:
        found = f"has {shape_text(src)} and dst `{dst.buffer.name}` {shape_text(dst)}, expected "
        found += "matrices of fixed sizes"
        hint = "allocate both with two dimensions of Python ints"
        return op.problem("src", "shape-mismatch", found, hint)
    if turned != (size[1], size[0]):
        found = f"is {list(turned)}, but src `{src.buffer.name}` turned is {[size[1], size[0]]}"
        hint = f"allocate dst as [{size[1]}, {size[0]}]"
        return op.problem("dst", "shape-mismatch", found, hint)
    if size[0] % SIDE or size[1] % SIDE:
        found = f"is {list(size)}, expected multiples of {SIDE}"
        hint = "pad the tile to whole squares of 16 x 16"
        return op.problem("src", "transpose-size", found, hint)
    if src.buffer is dst.buffer:
        message = f"transpose: src and dst are both in `{src.buffer.name}`"
        return Problem("operand-alias", message, "dst", "transpose into another buffer")
    return None


def turned_axes(op: Op) -> Axes:
    """Rows of one matrix are columns of the other."""
    src, dst = len(op.region("src").dims), len(op.region("dst").dims)
    return labelled(op, {"src": {src - 2: 0, src - 1: 1}, "dst": {dst - 2: 1, dst - 1: 0}})


def _transpose(op: Op, dst: Any, src: Any) -> Any:
    return src.reshape(src.shape[-2:]).T.reshape(dst.shape)


def _squares(op: Op) -> int:
    """One instruction turns 16 rows of 16."""
    rows, columns = largest_matrix(op.region("src"))
    return -(-rows // SIDE) * -(-columns // SIDE)


def _blocks(op: Op, target: Target) -> Problem | None:
    """dst has the columns of blocks of the matrix src one after another, all of fixed sizes, in
    another buffer."""
    src, dst = op.region("src"), op.region("dst")
    for name in ("src", "dst"):
        problem = row_alignment(op, name, target)
        if problem is not None:
            return problem
    matrix, found = static_matrix(src), dst.static_extents()
    width = k0_elements(src.dtype)
    blocks = [] if matrix is None else [matrix[1] // width, matrix[0], width]
    if matrix is None or matrix[1] % width or found is None or list(found[-3:]) != blocks:
        sizes = f"is {shape_text(dst)}, but the blocks of src `{src.buffer.name}` are {blocks}"
        return op.problem("dst", "shape-mismatch", sizes)
    if src.buffer is dst.buffer:
        message = f"{op.opdef.name}: src and dst are both in `{src.buffer.name}`"
        return Problem("operand-alias", message, "dst", "write to another buffer")
    return None


def _blocks_by_columns(op: Op, src: Any, dst: Any) -> Any:
    blocks, rows, width = dst.shape[-3:]
    return src.reshape(rows, blocks, width).swapaxes(0, 1).reshape(dst.shape)


def block_axes(op: Op) -> Axes:
    """Rows stay rows."""
    src, dst = len(op.region("src").dims), len(op.region("dst").dims)
    return labelled(op, {"src": {src - 2: 0}, "dst": {dst - 2: 0}})


def _rate_of_blocks(op: Op) -> tuple[float, float]:
    """A repeat moves blocks of one row: one of fewer than eight leaves a part of it unused. Rows
    that lie apart count one by one anyway."""
    src = op.region("src")
    if not is_contiguous(src):
        return FULL_RATE
    row = src.dtype.bytes_of(largest_matrix(src)[1])
    used = row / (REPEAT_BYTES * -(-row // REPEAT_BYTES))
    return FULL_RATE[0] * used, FULL_RATE[1] * used


def _repeats_of_blocks(op: Op) -> int:
    """One instruction moves eight blocks of each row."""
    rows, columns = largest_matrix(op.region("src"))
    row = op.region("src").dtype.bytes_of(columns)
    return -(-row // REPEAT_BYTES) * -(-rows // MAX_REPEATS)


OPS = (
    OpDef(
        name="transpose",
        family="rearrange",
        doc="dst[c, r] = src[r, c], for 16-bit and 32-bit types and multiples of 16",
        ascend_c="TransDataTo5HD",
        operands=(destination("dst", UB, *FILLABLE), source("src")),
        placement=VECTOR,
        axes=turned_axes,
        meaning=_transpose,
        dtype_rule=same_dtype,
        shape_rule=_sizes,
        instructions=_squares,
        chained=False,
    ),
    OpDef(
        name="blocks_by_columns",
        family="rearrange",
        doc="dst[b, r, :] = the b-th block of 32 bytes of row r of src: a matrix in NZ order",
        ascend_c="Copy",
        namespace=None,
        operands=(source("src", UB), destination("dst", UB)),
        placement=VECTOR,
        axes=block_axes,
        meaning=_blocks_by_columns,
        dtype_rule=same_dtype,
        shape_rule=_blocks,
        rate=_rate_of_blocks,
        instructions=_repeats_of_blocks,
        chained=False,
    ),
)
