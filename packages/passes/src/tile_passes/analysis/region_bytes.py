"""Compute the bytes of a region: intervals at fixed distances from a linear form."""

from __future__ import annotations

import math
from itertools import product
from operator import mul

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
from tile_ir.layout.geometry import contiguous_suffix
from tile_passes.analysis.byte_sets import FIXED, BufferStorage, ByteSet, Terms, union
from tile_passes.analysis.path_context import PathContext

# Intervals of a region that are kept apart.
MOST_INTERVALS = 256


def region_bytes(region: Region, storage: BufferStorage, here: PathContext) -> ByteSet | None:
    """The bytes of a region; None if they are too many intervals, or not at a place known from the
    names and loop variables around it."""
    buffer = region.buffer
    unit, shape = buffer.dtype.bits, buffer.static_shape()
    linear = buffer.memory in (Memory.UB, Memory.GM)
    if shape is not None and region.is_whole():
        size = buffer.dtype.bytes_of(math.prod(shape)) if linear else storage.size
        return ByteSet({storage: {FIXED: ((0, size),)}})
    if not linear:
        # Parts of a matrix in fractals do not lie together, the matrices do. Where all uses have
        # one name, and reads are of whole matrices, it does not matter which bytes stand for one.
        whole = all(s.extent == n for s, n in zip(region.dims[-2:], buffer.shape[-2:], strict=True))
        together = whole and buffer.rank > 2 and is_contiguous(region)
        if buffer.rank < 2 or not (together or storage.one_name):
            return None
        assert shape is not None, "an on-chip buffer has a static shape"
        unit, padded = divmod(8 * storage.size, math.prod(shape))
        if padded:
            return None
    runs = _runs(region)
    start = _linear(element_offset(region), here) if runs else None
    if runs is None or start is None:
        return None
    length, begins = runs
    places = (start[1], length, *begins, *(factor for _, factor in start[0]))
    if any(n * unit % 8 for n in places):
        return None
    moving = frozenset((atom, f * unit // 8) for atom, f in start[0])
    firsts = [(start[1] + begin) * unit // 8 for begin in begins]
    spans = union((first, first + length * unit // 8) for first in firsts)
    return ByteSet({storage: {moving: spans}} if spans else {})


def _runs(region: Region) -> tuple[int, list[int]] | None:
    """The elements of each run of consecutive ones, and the places where runs begin, counted from
    the first; None where they are not known, or too many."""
    inside = contiguous_suffix(region)
    outer = len(region.dims) - inside
    counts = [constant_value(s.extent) for s in region.dims]
    known = [n for n in counts if n is not None]
    number, length = math.prod(known[:outer]), math.prod(known[outer:])
    shape = region.buffer.static_shape()
    if len(known) < len(counts) or (number > 1 and (shape is None or number > MOST_INTERVALS)):
        return None
    if number == 1 or shape is None:
        return length, [0]
    steps = [s.stride * math.prod(shape[axis + 1 :]) for axis, s in enumerate(region.dims)]
    places = product(*map(range, known[:outer]))
    return length, [sum(map(mul, at, steps)) for at in places]


def with_open_ends(region: Region) -> Region:
    """A region that is read, with all that it may reach in dimensions of unknown extent, and of
    matrices in fractals all."""
    buffer = region.buffer
    if buffer.memory is Memory.UB and region.static_extents() is not None:
        return region

    def reach(s: Slice, size: Expr) -> Slice:
        open_end = constant_value(s.extent) is None and isinstance(s.offset, Const)
        return Slice(s.offset, simplify(size - s.offset)) if open_end and s.stride == 1 else s

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
