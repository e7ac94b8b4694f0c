"""Compute the bytes of a region that lie one after another, from a linear form on."""

from __future__ import annotations

import math

from tile_ir import (
    Const,
    Expr,
    For,
    Memory,
    Region,
    Slice,
    constant_value,
    element_offset,
    is_contiguous,
    linear_form,
    reads_memory,
    simplify,
)
from tile_ir.layout.geometry import row_view
from tile_passes.analysis.byte_sets import FIXED, BufferStorage, ByteSet, Terms, union
from tile_passes.analysis.path_context import PathContext

# Intervals that a region is taken to have at most.
MOST_SPANS = 64


def region_bytes(region: Region, storage: BufferStorage, here: PathContext) -> ByteSet | None:
    """The bytes of a region; None if they are not one interval or a few at one distance, at a place
    known from the names and loop variables around it."""
    buffer = region.buffer
    unit, shape = buffer.dtype.bits, buffer.static_shape()
    linear = buffer.memory in (Memory.UB, Memory.GM)
    if shape is not None and region.is_whole():
        size = buffer.dtype.bytes_of(math.prod(shape)) if linear else storage.size
        return ByteSet({storage: {FIXED: ((0, size),)}})
    if not linear:
        # Rows of a matrix in fractals do not lie together, the matrices do. Where all uses have one
        # name, and reads are of whole matrices, it does not matter which bytes stand for a row.
        together = [s.extent == n for s, n in zip(region.dims, buffer.shape, strict=True)][-2:]
        rows_lie = together[-1] if storage.one_name else all(together) and buffer.rank > 2
        if buffer.rank < 2 or not rows_lie:
            return None
        assert shape is not None, "an on-chip buffer has a static shape"
        unit, padded = divmod(8 * storage.size, math.prod(shape))
        if padded:
            return None
    counts = [constant_value(s.extent) for s in region.dims]
    if None in counts:
        return None
    rows, pitch = 1, 0
    if not is_contiguous(region):
        view = row_view(region) if linear else None
        count = None if view is None else constant_value(view.rows)
        step = None if view is None else constant_value(view.pitch)
        if count is None or step is None or count > MOST_SPANS:
            return None
        rows, pitch = int(count), int(step)
    start = _linear(element_offset(region), here)
    if start is None:
        return None
    total = math.prod(c for c in counts if c is not None)
    length = total // max(rows, 1) * unit
    bits = (start[1] * unit, length, pitch * unit, *(f * unit for _, f in start[0]))
    if any(n % 8 for n in bits):
        return None
    moving = frozenset((atom, f * unit // 8) for atom, f in start[0])
    first, size, apart = (n // 8 for n in bits[:3])
    spans = union((first + r * apart, first + r * apart + size) for r in range(rows))
    return ByteSet({storage: {moving: spans}} if length else {})


def with_open_ends(region: Region) -> Region:
    """A region that is read, with all that it may reach in dimensions of unknown extent, and of
    matrices in fractals all."""

    def reach(s: Slice, size: Expr) -> Slice:
        open_end = constant_value(s.extent) is None and isinstance(s.offset, Const)
        return Slice(s.offset, simplify(size - s.offset)) if open_end and s.stride == 1 else s

    buffer = region.buffer
    dims = [reach(s, size) for s, size in zip(region.dims, buffer.shape, strict=True)]
    if buffer.memory is not Memory.UB:
        dims[-2:] = Region.whole(buffer).dims[-2:]
    return Region(buffer, tuple(dims))


def linear_start(loop: For, here: PathContext) -> tuple[Terms, int] | None:
    """The first value of a loop variable; None if it depends on memory."""
    return _linear(loop.start, here)


def _linear(expr: Expr, here: PathContext) -> tuple[Terms, int] | None:
    expr = simplify(here.spelled(expr))
    if reads_memory(expr):
        return None
    terms, constant = linear_form(expr)
    return frozenset(terms.items()), constant
