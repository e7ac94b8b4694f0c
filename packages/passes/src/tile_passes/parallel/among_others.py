"""Elements of a tile between others that stay: shifted ones, and every k-th. The values are spread
to the places that they have in the rows of the tile, and masks of instructions take them there."""

from __future__ import annotations

import math

from tile_ir import (
    BLOCK_BYTES,
    INT32,
    ONE,
    ZERO,
    Const,
    Expr,
    Load,
    Region,
    Slice,
    Var,
    active_dims,
    cast,
    constant_value,
    element_count,
    element_offset,
    is_constant,
    is_contiguous,
    linear_form,
    maximum,
    minimum,
    simplify,
)
from tile_ir.analysis import Interval
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.picked_elements import picked
from tile_passes.parallel.vector_steps import VectorSteps

# Of elements further apart an instruction takes too few.
MOST_STEP = 16
_CURE = (
    "an element takes the scalar unit ten cycles or more: write rows of a tile from their start on"
)
# Sizes of elements that a mask has lanes for.
MASKED = (2, 4)


def among_others(s: VectorSteps, dst: Region) -> None:
    """The value of the store, put between others. Raises Unsuitable."""
    name, dtype = dst.buffer.name, dst.dtype
    if dtype.size not in MASKED:
        raise Unsuitable(f"no instruction writes single bytes of `{name}`", None, _CURE)
    blocks = _blocks_of_column(s, dst)
    if blocks is not None:
        _into_column(s, dst, blocks)
        return
    line = _as_line(s, dst)
    lines = line if line is not None else _as_rows(s, dst)
    if lines is None:
        raise Unsuitable(f"elements of `{name}` lie apart", None, _CURE)
    value = s.typed(s.store.value, dtype, s.domain, None)
    if isinstance(value, Expr):
        tile = s.tile(dtype, lines.domain)
        s.emit("fill", tile, cast(value, dtype))
    else:
        tile = picked(s, _read_back(value, s.domain, lines.places), lines.domain)
    s.emit("copy_lanes", Region(tile.buffer, (*tile.dims[:-1], lines.columns)), dst)


@dataclass(frozen=True, slots=True)
class _PlacesInRows:
    """Rows in which elements lie at the same places of a block as in the destination. `domain` has
    all places, `columns` are the written ones, and `places` has the element of the store's domain,
    from its first one on, that each place gets."""

    domain: Domain
    columns: Slice
    places: tuple[Expr, ...]


def _as_line(s: VectorSteps, dst: Region) -> _PlacesInRows | None:
    """One line of elements, which may start anywhere."""
    extents = [constant_value(e) for e in s.domain.extents]
    step = dst.dims[-1].stride
    if None in extents or not (len(extents) == 1 or is_contiguous(dst)):
        return None
    far = is_constant(dst.dims[-1].extent, 1) or step > MOST_STEP
    if len(extents) == 1 and far and not is_constant(element_count(dst), 1):
        return None
    unit, count = BLOCK_BYTES // dst.dtype.size, math.prod(n or 0 for n in extents)
    first = simplify(element_offset(dst) % unit)
    width = unit + (count - 1) * step + 1
    place = _place(s, dst.buffer.name, width)
    number = _between((place - first) // step, count)
    if len(extents) == 1:
        places: tuple[Expr, ...] = (number,)
    else:
        row = number // (extents[1] or 1)
        places = (row, number - row * (extents[1] or 1))
    return _PlacesInRows(
        Domain((place,), (ZERO,), (Const(width),)), Slice(first, Const(count), step), places
    )


def _as_rows(s: VectorSteps, dst: Region) -> _PlacesInRows | None:
    """Rows as they lie, of which the first one starts at a block."""
    column, width = dst.dims[-1], constant_value(dst.buffer.shape[-1])
    count, unit = constant_value(column.extent), BLOCK_BYTES // dst.dtype.size
    if count is None or width is None or is_constant(column.extent, 1) or column.stride > MOST_STEP:
        return None
    start = Region(dst.buffer, (*dst.dims[:-1], Slice(ZERO, ONE)))
    terms, constant = linear_form(element_offset(start))
    alike = width % unit == 0 or is_constant(Const(dst.dims[-2].stride), 1)
    if not alike or any(n % unit for n in (constant, *terms.values())):
        return None
    place = _place(s, s.domain.vars[-1].name, width)
    number = _between((place - column.offset) // column.stride, count)
    row, first = s.domain.vars[0], s.domain.starts[0]
    wide = Domain((row, place), (first, ZERO), (s.domain.extents[0], Const(width)))
    return _PlacesInRows(wide, column, (simplify(row - first), number))


def _blocks_of_column(s: VectorSteps, dst: Region) -> Domain | None:
    """A block for each element of a column whose rows lie whole blocks apart; None for others."""
    width, unit = constant_value(dst.buffer.shape[-1]), BLOCK_BYTES // dst.dtype.size
    (var, *more) = s.domain.vars
    rows = len(dst.dims) - 2
    if more or rows < 0 or width is None or width % unit or active_dims(dst) != (rows,):
        return None
    place = _place(s, var.name, unit)
    starts, extents = s.domain.starts, s.domain.extents
    return Domain((var, place), (*starts, ZERO), (*extents, Const(unit)))


def _into_column(s: VectorSteps, dst: Region, blocks: Domain) -> None:
    """The values, each in all elements of a block, of which the column takes its own."""
    value = s.typed(s.store.value, dst.dtype, s.domain, None)
    if isinstance(value, Expr):
        tile = s.tile(dst.dtype, blocks)
        s.emit("fill", tile, cast(value, dst.dtype))
    else:
        tile = s.spread(value, s.domain, blocks)
    unit = BLOCK_BYTES // dst.dtype.size
    own = Slice(simplify(dst.dims[-1].offset % unit), ONE)
    s.emit("copy_lanes", Region(tile.buffer, (tile.dims[0], own)), dst)
    s.release(tile)


def _place(s: VectorSteps, name: str, width: int) -> Var:
    place = s.temporaries.builder.scalar(name)
    s.sizes[place] = width
    s.known = {**s.known, place: Interval(0, width - 1)}
    return place


def _between(number: Expr, count: int) -> Expr:
    """The number of an element; that of the nearest one, where there is none."""
    return minimum(maximum(cast(simplify(number), INT32), Const(0)), Const(count - 1))


def _read_back(value: Region, domain: Domain, places: tuple[Expr, ...]) -> Load:
    """An element of the values, which the last dimensions of a tile hold, or one run."""
    used = [n for n, d in enumerate(value.dims) if not is_constant(d.extent, 1)]
    if len(value.dims) < len(places):
        row, column = places
        places = (row * domain.extents[-1] + column,)
    if len(used) != len(places):
        used = list(range(len(value.dims) - len(places), len(value.dims)))
    indices = [simplify(d.offset) for d in value.dims]
    for n, place in zip(used, places, strict=True):
        indices[n] = simplify(value.dims[n].offset + place * value.dims[n].stride)
    return Load(value.buffer, tuple(indices))
