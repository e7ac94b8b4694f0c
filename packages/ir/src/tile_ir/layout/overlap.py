"""Decide from constants whether two regions share elements.

Values of variables and addresses of buffers are not considered.
"""

from __future__ import annotations

from enum import Enum

from tile_ir.expr import constant_value
from tile_ir.regions import Region, Slice
from tile_ir.scalars.affine import difference, simplify


class Overlap(Enum):
    NONE = "none"
    SAME = "same"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


def overlap(a: Region, b: Region) -> Overlap:
    """SAME for the same elements in the same order; PARTIAL only where some element is surely in
    both."""
    if a.buffer is not b.buffer:
        return Overlap.NONE
    found = [_along(x, y) for x, y in zip(a.dims, b.dims, strict=True)]
    if Overlap.NONE in found:
        return Overlap.NONE
    if Overlap.UNKNOWN in found:
        return Overlap.UNKNOWN
    return Overlap.PARTIAL if Overlap.PARTIAL in found else Overlap.SAME


def _along(a: Slice, b: Slice) -> Overlap:
    """Along one dimension."""
    shift = constant_value(difference(b.offset, a.offset))
    same_extent = simplify(a.extent) == simplify(b.extent)
    if shift == 0 and same_extent and a.stride == b.stride:
        return Overlap.SAME
    sizes = constant_value(a.extent), constant_value(b.extent)
    if shift is None or sizes[0] is None or sizes[1] is None:
        return Overlap.UNKNOWN
    if a.stride != 1 or b.stride != 1:
        return Overlap.UNKNOWN
    return Overlap.PARTIAL if -sizes[1] < shift < sizes[0] else Overlap.NONE
