"""Shapes and strides of regions: what is contiguous, what lies where, how a tile copy matches up.

Pure functions of regions; element counts and offsets are in elements of the buffer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tile_ir.analysis.affine import simplify
from tile_ir.dtypes import BOOL, INT32, INT64, UINT32, UINT64
from tile_ir.expr import (
    ONE,
    ZERO,
    Buffer,
    Const,
    Expr,
    as_expr,
    binary,
    cast,
    ceildiv,
    constant_value,
    is_constant,
    maximum,
    minimum,
)
from tile_ir.machine import Memory
from tile_ir.regions import Region, Slice

# Units in which instructions count (docs/hardware/vector.md#repeats): a block, the eight of a
# repeat, and how many repeats one instruction has at most.
BLOCK_BYTES = 32
REPEAT_BYTES = 8 * BLOCK_BYTES
MAX_REPEATS = 255

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


def element_offset(region: Region) -> Expr:
    """Offset of the region's first element from the start of its buffer: in int32, or in int64
    where the tensor asks for it or an index has another type."""
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


def element_count(region: Region) -> Expr:
    """Number of elements of the region."""
    total: Expr = ONE
    for s in region.dims:
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


def active_dims(region: Region) -> tuple[int, ...]:
    """Dimensions whose extent is not literally one."""
    return tuple([i for i, s in enumerate(region.dims) if constant_value(s.extent) != 1])


def squeezed(region: Region) -> tuple[Expr, ...]:
    """The extents that are not literally one, in canonical form."""
    return tuple([_canonical(s.extent) for s in region.dims if constant_value(s.extent) != 1])


def _canonical(extent: Expr) -> Expr:
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


def is_contiguous(region: Region) -> bool:
    """Whether the region's elements lie one after another in its buffer."""
    return contiguous_suffix(region) == len(region.dims)


def same_shape(a: Region, b: Region) -> bool:
    """Whether two regions have equal extents once extents of one are dropped."""
    return squeezed(a) == squeezed(b)


class CopyPair(NamedTuple):
    """One dimension of a tile copy: dimension numbers on both sides (None where a side has no
    dimension left: it is a single row) and the elements that are really there, since a tile may
    hang over the edge of a GM tensor."""

    src_dim: int | None
    dst_dim: int | None
    valid: Expr


def match_copy(src: Region, dst: Region) -> tuple[CopyPair, ...]:
    """How the dimensions of a tile copy correspond.

    The GM side is clamped to the tensor (`clamped_dims`); in every dimension no more is moved than
    both sides describe.
    """
    a, b = _partners(dst, src), _partners(src, dst)
    cut_a, cut_b = clamped_dims(src), clamped_dims(dst)
    pairs = []
    for i, j in zip(a, b, strict=True):
        valid = minimum(_available(src, i, i in cut_a), _available(dst, j, j in cut_b))
        pairs.append(CopyPair(i, j, simplify(valid)))
    return tuple(pairs)


def clamped_dims(region: Region) -> tuple[int, ...]:
    """The dimensions in which a tile is cut at the edge of its gm tensor: rows and columns, which
    are the last dimension and the one before it that is not one long
    (docs/rules/copies.md#edges)."""
    if region.memory is not Memory.GM:
        return ()
    last = len(region.dims) - 1
    rows = [i for i in active_dims(region) if i != last] or list(range(last))
    return (*rows[-1:], last)


def starts_inside(region: Region, but: Collection[int | None] = ()) -> Expr:
    """Whether a gm tile begins before the ends of its tensor where it is cut, in dimensions other
    than `but`."""
    inside: Expr = Const(True, BOOL)
    for i in clamped_dims(region):
        room = _room(region, i)
        if i not in but:
            inside = binary("and", inside, room > 0)
    return inside


def _partners(other: Region, region: Region) -> list[int | None]:
    """The dimensions of a region that go with the active ones of the other side, or its own active
    ones where those are more: equal extents go together where what is left has no constant one,
    and may be 1; else the columns of a tile are its last dimension even where that is one long."""
    active, wanted = active_dims(region), active_dims(other)
    equal = _with_equal_extents(other, region) if len(active) < len(wanted) else None
    if equal is not None:
        return equal
    unused = [i for i in range(len(region.dims)) if i not in active]
    more = min(max(len(wanted) - len(active), 0), len(unused))
    dims = sorted([*active, *unused[len(unused) - more :]])
    return [None] * (len(wanted) - len(dims)) + dims


def _with_equal_extents(other: Region, region: Region) -> list[int | None] | None:
    """For each active dimension of the other side the one with the same extent, or one that is not
    active and lies between those of its neighbours; None if they do not go together so."""
    left, wanted = list(active_dims(region)), active_dims(other)
    found: dict[int, int] = {}
    for j in reversed(wanted):
        if left and _canonical(region.dims[left[-1]].extent) == _canonical(other.dims[j].extent):
            found[j] = left.pop()
        elif constant_value(other.dims[j].extent) is not None:
            return None
    if left:
        return None
    partners: list[int | None] = []
    before = -1
    for j in wanted:
        behind = min((i for k, i in found.items() if k > j), default=len(region.dims))
        partner = found.get(j, behind - 1 if behind - 1 > before else None)
        before = before if partner is None else partner
        partners.append(partner)
    return partners


def _available(region: Region, dim: int | None, clamped: bool) -> Expr:
    if dim is None:
        return ONE
    s = region.dims[dim]
    if region.memory is not Memory.GM or not clamped:
        return simplify(s.extent)
    room = _room(region, dim)
    size, extent = constant_value(room), constant_value(s.extent)
    if size is not None and extent is not None:
        return Const(max(0, min(size, extent)))
    if is_constant(s.offset, 0) and simplify(s.extent) == simplify(region.buffer.shape[dim]):
        return simplify(s.extent)
    return minimum(maximum(room, 0), s.extent)


def _room(region: Region, dim: int) -> Expr:
    """Elements from the start of a slice to the end of its dimension; below zero for a start beyond
    the end, of whatever type it is."""
    size, offset = region.buffer.shape[dim], region.dims[dim].offset
    signed = cast(offset, INT64) if offset.dtype in (UINT32, UINT64) else offset
    return simplify(size - signed)


@dataclass(frozen=True, slots=True)
class Clipped:
    """A tile copy cut to what exists: the regions really moved, and what is prepared before.

    `fill` is the region that gets `value` first, unless `complete` holds; None if nothing does.
    `exists` is whether there is anything to move. `spill` is what a single movement overwrites with
    `value` besides its destination: the DMA writes whole blocks of ub, so the rest of the last
    block of each row is lost (docs/hardware/movement.md#rows-of-ub). A copy of the language has
    none.
    """

    src: Region
    dst: Region
    exists: Expr
    complete: Expr
    fill: Region | None
    value: float
    spill: Region | None = None


def clip_copy(src: Region, dst: Region, pad_value: float | None) -> Clipped:
    """The effect of `copy` by docs/rules/copies.md#edges: cut at the edge of the gm tensor, with
    the rest of a part of ub padded, and that of a part of an l1 matrix zeroed."""
    pairs = match_copy(src, dst)
    exists = binary(
        "and",
        starts_inside(src, [p.src_dim for p in pairs]),
        starts_inside(dst, [p.dst_dim for p in pairs]),
    )
    complete = exists
    src_dims, dst_dims = list(src.dims), list(dst.dims)
    for p in pairs:
        if p.src_dim is not None:
            src_dims[p.src_dim] = _of_extent(src.dims[p.src_dim], p.valid)
        if p.dst_dim is not None:
            dst_dims[p.dst_dim] = _of_extent(dst.dims[p.dst_dim], p.valid)
        exists = binary("and", exists, p.valid > 0)
    for moved, whole in zip(dst_dims, dst.dims, strict=True):
        complete = binary("and", complete, binary("==", moved.extent, simplify(whole.extent)))
    loads = src.memory is Memory.GM and dst.memory in (Memory.UB, Memory.L1)
    fill = None if not loads or is_constant(complete, True) else dst
    cut, target = Region(src.buffer, tuple(src_dims)), Region(dst.buffer, tuple(dst_dims))
    return Clipped(cut, target, exists, complete, fill, pad_value or 0.0)


def _of_extent(s: Slice, extent: Expr) -> Slice:
    return s if extent is s.extent else Slice(s.offset, extent, s.stride)


def spill_of_load(src: Region, dst: Region) -> Region | None:
    """The destination of a load into ub, rows rounded up to whole blocks; None if it has those."""
    if src.memory is not Memory.GM or dst.memory is not Memory.UB:
        return None
    dims = active_dims(dst) or (len(dst.dims) - 1,)
    last, per_block = dst.dims[dims[-1]], dst.dtype.elements_in(BLOCK_BYTES)
    if per_block < 2 or dims[-1] != len(dst.dims) - 1:
        return None
    size = constant_value(last.extent)
    if size is not None and size % per_block == 0:
        return None
    pitch = constant_value(dst.buffer.shape[-1])
    if len(dims) > 1 and pitch is not None and pitch % per_block:
        return None  # no row but the first starts at a block: no whole blocks are written
    room = dst.buffer.shape[dims[-1]] - last.offset
    widened = minimum(ceildiv(last.extent, per_block) * per_block, room)
    slices = list(dst.dims)
    slices[dims[-1]] = _of_extent(last, simplify(widened))
    return Region(dst.buffer, tuple(slices))


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
    """A region as rows of consecutive elements: its one or two active dimensions, or a contiguous
    block of more; None if its rows are not evenly spaced, or if elements of a row lie apart. A
    contiguous vector is one row, but for a column of a matrix in l1 or l0c, where every row begins
    a block of its own."""
    dims, steps = active_dims(region), strides(region.buffer)
    slices = region.dims
    in_fractals = region.memory in FRACTAL_MEMORIES and len(region.dims) > 1
    if in_fractals and is_constant(region.dims[-1].extent, 1):
        return trailing_matrix(region) if set(dims) <= {len(slices) - 2} else None
    if len(dims) > 2:
        if not is_contiguous(region):
            return None
        rows: Expr = ONE
        for s in slices[:-1]:
            rows = rows * s.extent
        return Rows(simplify(rows), slices[-1].extent, slices[-1].extent)
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
    return None


def _is_vector(region: Region, view: Rows) -> bool:
    """Whether the elements of a region lie one after another in memory; those of a row of fractals
    do not."""
    return is_constant(view.rows, 1) and region.memory not in FRACTAL_MEMORIES
