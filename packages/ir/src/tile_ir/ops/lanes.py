"""Elements of ub between others that stay (docs/hardware/units.md#repeats)."""

from __future__ import annotations

from typing import Any

from tile_ir.costs.timing import FULL_RATE
from tile_ir.expr import constant_value, is_constant
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    REPEAT_BYTES,
    element_count,
    element_offset,
    is_contiguous,
    same_shape,
    trailing_matrix,
)
from tile_ir.nodes import Op
from tile_ir.opdef import OpDef, Problem
from tile_ir.ops.axes import elements
from tile_ir.ops.rules import (
    FILLABLE,
    UB,
    VECTOR,
    destination,
    same_dtype,
    same_size,
    shape_text,
    source,
)
from tile_ir.scalars.affine import linear_form, simplify
from tile_ir.target import Target


def _same_places(op: Op, target: Target) -> Problem | None:
    """Both regions have one shape, or are runs, and one step along rows; they start at the same
    place of a block, as do their rows."""
    src, dst = op.region("src"), op.region("dst")
    runs = is_contiguous(src) and is_contiguous(dst)
    if same_size(op, target) is not None:
        return same_size(op, target)
    if not runs and (
        not same_shape(src, dst) or any(not is_constant(e, 1) for e in dst.extents[:-2])
    ):
        found = f"has {shape_text(dst)}, but src `{src.buffer.name}` has {shape_text(src)}"
        return op.problem("dst", "shape-mismatch", found, "give both the shape of one matrix")
    if src.dims[-1].stride != dst.dims[-1].stride:
        found = f"takes every {dst.dims[-1].stride}th element, src every {src.dims[-1].stride}th"
        return op.problem("dst", "strided-operand", found, "give both the same step")
    unit = BLOCK_BYTES // dst.dtype.size
    apart = [simplify(element_offset(src) - element_offset(dst))]
    if not runs and not is_constant(trailing_matrix(dst).rows, 1):
        apart.append(simplify(trailing_matrix(src).pitch - trailing_matrix(dst).pitch))
    for distance in apart:
        terms, constant = linear_form(distance)
        if constant % unit and all(f % unit == 0 for f in terms.values()):
            found = f"starts rows {constant % unit} elements further inside a block than src"
            hint = f"start both at multiples of {unit} elements"
            return op.problem("dst", "operand-alignment", found, hint)
    return None


def _repeats_of_lanes(op: Op) -> int:
    """One for each part of a row that an instruction reaches, for all rows at once."""
    dst = op.region("dst")
    last = dst.dims[-1]
    length = constant_value(element_count(dst) if is_contiguous(dst) else last.extent) or 1
    length *= last.stride
    return -(-length * op.region("dst").dtype.size // REPEAT_BYTES)


def _rate_of_lanes(op: Op) -> tuple[float, float]:
    """A repeat takes all elements of a row that it reaches, not one for each that lies apart."""
    last = op.region("dst").dims[-1]
    apart = (constant_value(last.extent) or 1) if last.stride != 1 else 1
    of_two, of_four = FULL_RATE
    together = max(apart / _repeats_of_lanes(op), 1)
    return of_two * together, of_four * together


def _moved(op: Op, src: Any, dst: Any) -> Any:
    return src.reshape(dst.shape)


OPS = (
    OpDef(
        name="copy_lanes",
        family="lanes",
        inside_blocks=True,
        doc="ub to ub, elements between others that stay: both regions have the same step and "
        "start at the same place of a block, as do their rows",
        ascend_c="Copy",
        namespace=None,
        operands=(source("src", UB, *FILLABLE), destination("dst", UB)),
        placement=VECTOR,
        axes=elements,
        meaning=_moved,
        dtype_rule=same_dtype,
        shape_rule=_same_places,
        rate=_rate_of_lanes,
        instructions=_repeats_of_lanes,
        chained=False,
    ),
)
