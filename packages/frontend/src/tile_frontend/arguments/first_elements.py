"""The first elements of a buffer or slice as a region: scripts name larger buffers than an
operation uses, and the operation is built with what it uses."""

from __future__ import annotations

import math
from dataclasses import replace

from tile_ir import Const, Expr, Op, Region, Slice, constant_value, is_contiguous, simplify


def narrowed(op: Op) -> Op:
    """The operation with every operand cut to the elements its record says it uses."""
    if op.opdef.uses is None:
        return op
    uses = op.opdef.uses(op)
    operands = (
        tuple(
            _narrowed(operand, uses.get(definition.name))
            if isinstance(operand, Region)
            else operand
            for operand, definition in zip(op.operands, op.opdef.operands, strict=False)
        )
        + op.operands[len(op.opdef.operands) :]
    )
    return op if operands == op.operands else replace(op, operands=operands)


def _narrowed(region: Region, count: Expr | None) -> Region:
    if count is None:
        return region
    number = constant_value(simplify(count))
    if number is not None:
        return first_elements(region, number) or region
    if region.buffer.rank == 1 and is_contiguous(region):
        return Region(region.buffer, (replace(region.dims[0], extent=simplify(count)),))
    return region


def first_elements(region: Region, count: int) -> Region | None:
    """A run of elements cut to its first `count`; None if they are no box of the buffer."""
    extents = region.static_extents()
    if extents is None:
        return None
    total = math.prod(extents)
    if count == total:
        return region
    if not 0 < count < total or not is_contiguous(region):
        return None
    for dim in range(len(extents)):
        inner = math.prod(extents[dim + 1 :])
        if count % inner == 0 and count // inner <= extents[dim]:
            return _cut(region, dim, count // inner)
    return None


def _cut(region: Region, dim: int, size: int) -> Region:
    """One index in front of `dim`, `size` of it, everything behind."""
    dims = (
        *(Slice(s.offset, Const(1)) for s in region.dims[:dim]),
        Slice(region.dims[dim].offset, Const(size)),
        *region.dims[dim + 1 :],
    )
    return Region(region.buffer, dims)
