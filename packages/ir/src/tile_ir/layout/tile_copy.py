"""Match the dimensions of the two sides of a tile copy, and find the elements that exist.

Pure functions of regions, by docs/language/rules.md; extents are in elements.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from tile_ir.dtypes import BOOL, INT64, UINT32, UINT64
from tile_ir.expr import (
    ONE,
    Const,
    Expr,
    binary,
    cast,
    ceildiv,
    constant_value,
    is_constant,
    maximum,
    minimum,
)
from tile_ir.layout.geometry import BLOCK_BYTES, active_dims, canonical_extent
from tile_ir.machine import Memory
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import is_symmetric
from tile_ir.regions import Region, Slice
from tile_ir.scalars.affine import simplify


class CopyPair(NamedTuple):
    """One dimension of a tile copy: its numbers on both sides and the elements that exist, since a
    tile may extend past the edge of a GM tensor. A number is None where a side has no dimension
    left: it is a single row."""

    src_dim: int | None
    dst_dim: int | None
    valid: Expr


@lru_cache(maxsize=16384)
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


@lru_cache(maxsize=16384)
def clamped_dims(region: Region) -> tuple[int, ...]:
    """The dimensions in which a tile is cut at the edge of its gm tensor: rows and columns, which
    are the last dimension and the one before it that is not one long
    (docs/language/rules.md#edges). The rank whose instance it is has no edge."""
    if region.memory is not Memory.GM:
        return ()
    first, last = int(is_symmetric(region.buffer)), len(region.dims) - 1
    rows = [i for i in active_dims(region) if i != last] or list(range(first, last))
    return (*rows[-1:], last)


def starts_inside(region: Region, but: Collection[int | None] = ()) -> Expr:
    """Whether a gm tile begins before the ends of its tensor where it is cut, in dimensions other
    than `but`."""
    inside: Expr = Const(True, BOOL)
    for i in clamped_dims(region):
        if i not in but:
            inside = binary("and", inside, room_along(region, i) > 0)
    return inside


def _partners(other: Region, region: Region) -> list[int | None]:
    """The dimensions of a region that correspond to the active ones of the other side, or its own
    active ones where those are more. Equal extents correspond if no remaining dimension has a
    constant extent, so that each may be 1. Else the columns of a tile are its last dimension, even
    of extent 1."""
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
        extent = canonical_extent(other.dims[j].extent)
        if left and canonical_extent(region.dims[left[-1]].extent) == extent:
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
    room = room_along(region, dim)
    size, extent = constant_value(room), constant_value(s.extent)
    if size is not None and extent is not None:
        return Const(max(0, min(size, extent)))
    if is_constant(s.offset, 0) and simplify(s.extent) == simplify(region.buffer.shape[dim]):
        return simplify(s.extent)
    return minimum(maximum(room, 0), s.extent)


def room_along(region: Region, dim: int) -> Expr:
    """How many elements a slice may have from its start to the end of its dimension; below zero for
    a start beyond the end, of whatever type it is."""
    size, s = region.buffer.shape[dim], region.dims[dim]
    signed = cast(s.offset, INT64) if s.offset.dtype in (UINT32, UINT64) else s.offset
    return simplify(steps_in(size - signed, s.stride))


def steps_in(length: Expr, stride: int) -> Expr:
    """How many elements, so many apart, begin in a length."""
    return length if stride == 1 else ceildiv(simplify(length), stride)


@dataclass(frozen=True, slots=True)
class Clipped:
    """A tile copy cut to the existing elements: the regions to move, and the preparation.

    `fill` is the region that gets `value` first, unless `complete` holds; None if nothing does.
    `exists` is whether there is anything to move. `spill` is the region that a single movement
    overwrites with `value` besides its destination: the DMA writes whole blocks of ub, so the rest
    of the last block of each row is lost (docs/hardware/units.md#rows-of-ub). A copy of the
    language has none.
    """

    src: Region
    dst: Region
    exists: Expr
    complete: Expr
    fill: Region | None
    value: float
    spill: Region | None = None


def clip_copy(src: Region, dst: Region, pad_value: float | None) -> Clipped:
    """The effect of `copy` by docs/language/rules.md#edges: cut at the edge of the gm tensor, with
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
        else:  # a single row
            complete = binary("and", complete, p.valid > 0)
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
