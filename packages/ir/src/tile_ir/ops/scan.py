"""Running sums along one axis."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, INT32
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import ArgumentDef, AttrDef, Axes, OpDef, Problem, Scratch
from tile_ir.ops.axes import labelled, whole
from tile_ir.ops.reduce import check_axis, reduced_axis
from tile_ir.ops.rules import (
    UB,
    VECTOR,
    all_rules,
    destination,
    largest_matrix,
    one_matrix,
    same_dtype,
    scratch_operand,
    shape_text,
    source,
)
from tile_ir.target import Target

# Rows and columns that are turned at once, so that a running sum along them is one down the rows.
SIDE, CHUNK = 16, 64


def scanned_axis(op: Op) -> int:
    """0 for sums down the rows, 1 along them."""
    return reduced_axis(op)


def _same_matrix(op: Op, target: Target) -> Problem | None:
    """src and dst are matrices of one size, in rows of whole blocks."""
    src, dst = op.region("src"), op.region("dst")
    if src.extents[-2:] != dst.extents[-2:]:
        found = f"has {shape_text(dst)}, but src `{src.buffer.name}` has {shape_text(src)}"
        return op.problem("dst", "shape-mismatch", found, "give both the same shape")
    return one_matrix(op, "src", target) or one_matrix(op, "dst", target)


def _running_sum(op: Op, src: Any, dst: Any, _scratch: Any) -> Any:
    axis, values = scanned_axis(op), src.reshape((1, *src.shape)[-2:])
    wide = values.astype(np.float64 if src.dtype.kind == "f" else np.int64)
    with np.errstate(all="ignore"):
        if op.attr("reverse"):
            sums = np.flip(np.cumsum(np.flip(wide, axis), axis), axis)
        else:
            sums = np.cumsum(wide, axis)
        return sums.astype(dst.dtype).reshape(dst.shape)


def scan_axes(op: Op) -> Axes:
    """The dimension that is not summed along, of two matrices."""
    src, dst = op.region("src"), op.region("dst")
    other = 1 - scanned_axis(op)
    if min(len(src.dims), len(dst.dims)) < 2:
        return whole(op)
    return labelled(op, {n: {len(r.dims) - 2 + other: 0} for n, r in (("src", src), ("dst", dst))})


def _scratch(op: Op) -> tuple[Scratch, ...]:
    """Two turned chunks and the sums so far; down the rows, a row of sums and one of addends in
    float where halves are added."""
    src = op.region("src")
    if scanned_axis(op) == 0 and src.dtype is not FLOAT16:
        return ()
    wide = FLOAT32 if src.dtype is FLOAT16 else src.dtype
    return (Scratch(Memory.UB, wide, 2 * SIDE * CHUNK + SIDE),)


def _additions(op: Op) -> int:
    """One for each row, of halves with two conversions; along rows they are turned before and
    after."""
    src = op.region("src")
    rows, columns = largest_matrix(src)
    if scanned_axis(op) == 0 and len(src.dims) > 1:
        return rows * (3 if src.dtype is FLOAT16 else 1)
    pieces = -(-columns // CHUNK)
    if rows * -(-pieces // SIDE) <= -(-rows // SIDE) * pieces:  # a piece beside each other
        return rows * -(-pieces // SIDE) * CHUNK
    return columns + SIDE


OPS = (
    OpDef(
        name="cumsum",
        family="scan",
        doc="running sums of src along dim, from the end on with reverse; halves are added in "
        "float, and the order of additions is not that of the elements",
        ascend_c="Add, TransDataTo5HD",
        namespace="",
        operands=(
            source("src", UB, FLOAT32, FLOAT16, INT32),
            destination("dst"),
            scratch_operand(),
        ),
        attrs=(AttrDef("dim", int, 0), AttrDef("reverse", bool, False)),
        parameters=("src", ArgumentDef("dst", ("dst",), None, same_as="src"), "dim", "reverse"),
        placement=VECTOR,
        meaning=_running_sum,
        axes=scan_axes,
        may_alias=True,
        dtype_rule=same_dtype,
        shape_rule=all_rules(check_axis, _same_matrix),
        scratch=_scratch,
        rate=(16, 16),
        instructions=_additions,
        chained=False,
    ),
)
