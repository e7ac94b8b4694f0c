"""Tiles, and slices of tensors, that are several times as long in one dimension."""

from __future__ import annotations

from tile_ir import Buffer, Const, Region, Slice, constant_value
from tile_ir.quick_dataclasses import replace


def longer_region(region: Region, dim: int, times: int, grow: bool) -> Region:
    """A region with a longer dimension; `grow`: of a buffer that is longer too."""
    buffer = longer_buffer(region.buffer, dim, times) if grow else region.buffer
    s = region.dims[dim]
    longer = Slice(s.offset, Const((constant_value(s.extent) or 1) * times), s.stride)
    return Region(buffer, (*region.dims[:dim], longer, *region.dims[dim + 1 :]))


def longer_buffer(buffer: Buffer, dim: int, times: int) -> Buffer:
    size = Const((constant_value(buffer.shape[dim]) or 1) * times)
    return replace(buffer, shape=(*buffer.shape[:dim], size, *buffer.shape[dim + 1 :]))
