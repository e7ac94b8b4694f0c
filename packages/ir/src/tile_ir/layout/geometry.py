"""Compute shapes, strides, offsets and contiguity of regions.

Pure functions of regions; element counts and offsets are in elements of the buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from tile_ir.dtypes import INT32, INT64
from tile_ir.expr import (
    ONE,
    ZERO,
    Buffer,
    Const,
    Expr,
    as_expr,
    cast,
    constant_value,
    is_constant,
)
from tile_ir.machine import Memory
from tile_ir.regions import Region, Slice
from tile_ir.scalars.affine import simplify

# Units in which instructions count (docs/hardware/units.md#repeats): a block, the eight of a
# repeat, and how many repeats one instruction has at most.
BLOCK_BYTES = 32
REPEAT_BYTES = 8 * BLOCK_BYTES
MAX_REPEATS = 255

# Bytes that the data cache of the scalar unit writes back together
# (docs/hardware/units.md#data-cache).
CACHE_LINE_BYTES = 64

# Memories whose matrices lie in fractals, so that elements of one row are apart.
FRACTAL_MEMORIES = (Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C)


@lru_cache(maxsize=4096)
def strides(buffer: Buffer) -> tuple[Expr, ...]:
    """Row-major element strides per dimension."""
    result: list[Expr] = []
    step: Expr = ONE
    for dim in reversed(buffer.shape):
        result.append(step)
        step = _product(step, dim)
    return tuple(reversed(result))


def _product(step: Expr, dim: Expr) -> Expr:
    """Of sizes, which do not wrap: int64 where int32 does not hold it."""
    if isinstance(step, Const) and isinstance(dim, Const):
        return as_expr(int(step.value) * int(dim.value))
    return step * dim


@lru_cache(maxsize=16384)
def element_offset(region: Region) -> Expr:
    """Offset of the region's first element from the start of its buffer: in int32, or in int64
    where the tensor requires it or an index has another type."""
    offsets = [s.offset for s in region.dims]
    wide = any(not isinstance(offset, Const) and offset.dtype is not INT32 for offset in offsets)
    total: Expr = ZERO
    for offset, step in zip(offsets, strides(region.buffer), strict=True):
        number = constant_value(offset)
        if number is not None:
            offset = as_expr(number)
        elif wide:
            offset = cast(offset, INT64)
        if not is_constant(offset, 0):
            total = total + offset * step
    return simplify(total)


@lru_cache(maxsize=16384)
def element_count(region: Region) -> Expr:
    """Number of elements of the region."""
    return _count_of(region.dims)


def _count_of(slices: Iterable[Slice]) -> Expr:
    total: Expr = ONE
    for s in slices:
        if not is_constant(s.extent, 1):
            total = total * s.extent
    return simplify(total)


def buffer_elements(buffer: Buffer) -> int | None:
    """Elements of a buffer of static shape."""
    shape = buffer.static_shape()
    if shape is None:
        return None
    total = 1
    for d in shape:
        total *= d
    return total


@lru_cache(maxsize=16384)
def active_dims(region: Region) -> tuple[int, ...]:
    """Dimensions whose extent is not literally one."""
    return tuple([i for i, s in enumerate(region.dims) if constant_value(s.extent) != 1])


@lru_cache(maxsize=16384)
def squeezed(region: Region) -> tuple[Expr, ...]:
    """The extents that are not literally one, in canonical form."""
    return tuple([canonical_extent(s.extent) for s in region.dims if constant_value(s.extent) != 1])


@lru_cache(maxsize=16384)
def canonical_extent(extent: Expr) -> Expr:
    """An extent in canonical form: a number is the same number in every type of integers."""
    found = simplify(extent)
    number = constant_value(found)
    return found if number is None else as_expr(number)


def contiguous_suffix(region: Region) -> int:
    """How many trailing dimensions form one contiguous run of elements, counting a last partial
    one: for `x[i, 2:4, :]` of a 3-D buffer that is all three, since `i` has extent one."""
    count, partial = 0, False
    for s, size in zip(reversed(region.dims), reversed(region.buffer.shape), strict=True):
        if partial and not is_constant(s.extent, 1):
            break
        if s.stride != 1 and not is_constant(s.extent, 1):
            break
        if s.extent is not size and simplify(s.extent) != simplify(size):
            partial = True
        count += 1
    return count


@lru_cache(maxsize=16384)
def is_contiguous(region: Region) -> bool:
    """Whether the region's elements lie one after another in its buffer."""
    return contiguous_suffix(region) == len(region.dims)


def same_shape(a: Region, b: Region) -> bool:
    """Whether two regions have equal extents once extents of one are dropped."""
    return squeezed(a) == squeezed(b)


class Rows(NamedTuple):
    """A tile as rows of consecutive elements, `pitch` elements apart."""

    rows: Expr
    columns: Expr
    pitch: Expr


def matrix_view(region: Region) -> Rows | None:
    """All elements of a region as rows, in order: one row where they are contiguous; None if one
    pitch does not reach them."""
    if is_contiguous(region):
        count = element_count(region)
        return Rows(ONE, count, count)
    dims = active_dims(region)
    if len(dims) > 2 or (len(dims) == 2 and region.dims[dims[1]].stride != 1):
        return None
    view = row_view(region)
    inside = len(dims) < 2 or is_constant(strides(region.buffer)[dims[1]], 1)
    return view if inside else None


def trailing_matrix(region: Region) -> Rows:
    """The last two dimensions of a region as rows and columns, whatever their extents."""
    steps, last = strides(region.buffer), region.dims[-1]
    if len(region.dims) == 1:
        return Rows(ONE, last.extent, simplify(region.buffer.shape[-1]))
    row = region.dims[-2]
    return Rows(row.extent, last.extent, simplify(steps[-2] * row.stride))


def row_view(region: Region) -> Rows | None:
    """A region as rows of consecutive elements: its one or two active dimensions, a contiguous run
    of more, or one dimension of such runs; None if its rows are not evenly spaced, or if elements
    of a row lie apart. A contiguous vector is one row, but for a column of a matrix in l1 or l0c,
    where every row begins a block of its own."""
    dims, steps = active_dims(region), strides(region.buffer)
    slices = region.dims
    in_fractals = region.memory in FRACTAL_MEMORIES and len(region.dims) > 1
    if in_fractals and is_constant(region.dims[-1].extent, 1):
        return trailing_matrix(region) if set(dims) <= {len(slices) - 2} else None
    if len(dims) > 2:
        if not is_contiguous(region):
            return None if in_fractals else _rows_of_blocks(region)
        return Rows(_count_of(slices[:-1]), slices[-1].extent, slices[-1].extent)
    if len(dims) == 2:
        row, column = dims[-2], dims[-1]
        if slices[column].stride != 1 or not is_constant(steps[column], 1):
            return None
        pitch = simplify(steps[row] * slices[row].stride)
        return Rows(slices[row].extent, slices[column].extent, pitch)
    if len(dims) == 1 and not is_contiguous(region):
        pitch = simplify(steps[dims[0]] * slices[dims[0]].stride)
        return Rows(slices[dims[0]].extent, ONE, pitch)
    count = element_count(region)
    return Rows(ONE, count, count)


def _rows_of_blocks(region: Region) -> Rows | None:
    """One dimension of contiguous blocks, each as a row."""
    inside = len(region.dims) - contiguous_suffix(region)
    outside = [d for d in active_dims(region) if d < inside]
    if len(outside) != 1:
        return None
    (row,) = outside
    pitch = simplify(strides(region.buffer)[row] * region.dims[row].stride)
    return Rows(region.dims[row].extent, _count_of(region.dims[inside:]), pitch)


@lru_cache(maxsize=16384)
def transfer_rows(src: Region, dst: Region) -> tuple[Rows, Rows] | None:
    """Both sides of a copy as equally many rows of equal length; None if there is no such view."""
    a, b = row_view(src), row_view(dst)
    if a is None or b is None:
        return None
    if simplify(a.rows) == simplify(b.rows) and simplify(a.columns) == simplify(b.columns):
        return a, b
    # A column on one side against a vector on the other: rows of one element each.
    if is_constant(a.columns, 1) and _is_vector(dst, b):
        return a, Rows(a.rows, ONE, ONE)
    if is_constant(b.columns, 1) and _is_vector(src, a):
        return Rows(b.rows, ONE, ONE), b
    if is_contiguous(src) and is_contiguous(dst):
        count = element_count(src)
        one = Rows(ONE, count, count)
        return one, one
    # Blocks that lie apart on one side: as much of the other side, where all lies together.
    if _is_run(dst) and len(active_dims(src)) > 2 and _as_many(dst, a):
        return a, Rows(a.rows, a.columns, a.columns)
    if _is_run(src) and len(active_dims(dst)) > 2 and _as_many(src, b):
        return Rows(b.rows, b.columns, b.columns), b
    return None


def _is_run(region: Region) -> bool:
    return region.memory not in FRACTAL_MEMORIES and is_contiguous(region)


def _as_many(region: Region, view: Rows) -> bool:
    return simplify(element_count(region)) == simplify(view.rows * view.columns)


def _is_vector(region: Region, view: Rows) -> bool:
    """Whether the elements of a region lie one after another in memory; those of a row of fractals
    do not."""
    return is_constant(view.rows, 1) and region.memory not in FRACTAL_MEMORIES
