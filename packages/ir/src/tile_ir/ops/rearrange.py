"""Elements in another order: transposition of a matrix (docs/language/rules.md#rearranging)."""

from __future__ import annotations

from typing import Any

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
)
