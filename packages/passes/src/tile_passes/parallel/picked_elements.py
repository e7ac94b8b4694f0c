"""Gather elements of a tile in another order than they lie in: shifted, every k-th one, a column,
transposed, backwards, by an index. Those of gm come by way of a box in ub."""

from __future__ import annotations

import math

from tile_ir import (
    INT32,
    INT64,
    ZERO,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Slice,
    cast,
    constant_value,
    element_offset,
    is_contiguous,
    linear_form,
    minimum,
    reads_memory,
    simplify,
    substitute,
)
from tile_ir.analysis import interval
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.parallel.accesses import variables_in
from tile_passes.parallel.elements_outside import held_inside, zero_elsewhere
from tile_passes.parallel.narrow_integers import fitted
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.packed_lines import is_packed, run_of
from tile_passes.parallel.staged_boxes import in_a_box, varying_part
from tile_passes.parallel.tile_steps import check_inside
from tile_passes.parallel.turned_elements import turned
from tile_passes.parallel.vector_steps import VectorSteps

# Fewer elements are as well carried by the scalar unit, which makes the first 8 offsets, too.
LEAST_LINE = 8


def picked(s: VectorSteps, e: Load, domain: Domain, into: Region | None = None) -> Region:
    """A tile with the elements, one after another. Raises Unsuitable."""
    name = e.buffer.name
    if e.buffer.memory not in (Memory.UB, Memory.GM):
        raise Unsuitable(f"`{name}` is in {e.buffer.memory.value}: it can only be copied")
    e = Load(e.buffer, tuple(_as_index(i, s, domain) for i in e.indices))
    counts = [constant_value(extent) for extent in domain.extents]
    if len(domain.vars) == 2 and counts[1] is None:
        raise Unsuitable(f"rows of `{name}` have a length that is known at run time only")
    if math.prod(s.sizes[v] for v in s.domain.vars) < LEAST_LINE:
        raise Unsuitable(f"fewer than {LEAST_LINE} elements of `{name}` are read")
    _check_ends(e, domain)
    inside, test = held_inside(s, e, domain)
    if test is None:
        return _gathered(s, e, domain, into)
    return zero_elsewhere(s, _gathered(s, inside, domain, None), test, domain, into)


def _as_index(index: Expr, s: VectorSteps, domain: Domain) -> Expr:
    """An index in int32, in which offsets are computed: elements of other types are converted, so
    that integers of 64 bits beyond the ends of a tensor stay beyond them."""
    dtype = index.dtype
    if dtype is INT32 or not variables_in(index, domain):
        return index
    if dtype is INT64:
        return cast(index, INT32) if isinstance(index, Load) else index
    if not dtype.is_integer or dtype.limits()[1] > INT32.limits()[1]:
        raise Unsuitable(f"an index is of {dtype}, which no vector instruction converts to int32")
    return fitted(cast(index, INT32), s.known)


def _gathered(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region:
    table = in_a_box(s, e, domain)
    if into is not None and (table.dtype is not e.dtype or not _takes_whole(s, into)):
        into = None
    tile = _turned(s, table, domain, into)
    if tile is not None:
        return _as_read(s, table, tile, e, domain)
    place = simplify(element_offset(_element(table)) * table.dtype.size)
    varying, base = varying_part(place, domain)
    found = interval(varying, s.known)
    if math.isfinite(found.low):
        varying, base = simplify(varying - int(found.low)), simplify(base + int(found.low))
    if interval(base, s.known).low < 0:  # bounds may lie lower than any element
        varying, base = simplify(varying + base), ZERO
    if into is not None and into.extents == domain.extents and is_contiguous(into):
        tile = whole = into
    else:
        tile = s.tile(table.dtype, domain)
        whole = _with_gaps(s, tile, domain)
    offsets = _offsets(s, varying, domain, whole)
    s.emit("gather", whole, Region.whole(table.buffer), offsets, cast(base, INT32))
    return _as_read(s, table, tile, e, domain)


def _takes_whole(s: VectorSteps, into: Region) -> bool:
    """Whether elements in any order may be put there as they are made."""
    return into.memory is Memory.UB and starts_at_blocks(into, s.trial.target)


def _turned(s: VectorSteps, table: Load, domain: Domain, into: Region | None) -> Region | None:
    count = len(s.steps)
    for target in (into, None) if into is not None else (None,):
        try:
            found = turned(s, table, domain, target)
        except Unsuitable:
            del s.steps[count:]
            continue
        if found is not None:
            return found
    return None


def _as_read(s: VectorSteps, table: Load, tile: Region, e: Load, domain: Domain) -> Region:
    """The elements in their own type; a table of the compiler's is needed no longer."""
    if table.buffer is not e.buffer:
        s.release(Region.whole(table.buffer))
    return tile if table.dtype is e.dtype else s.convert(tile, e.dtype, domain, None)


def _with_gaps(s: VectorSteps, tile: Region, domain: Domain) -> Region:
    """The tile with the gaps between its rows, so that it is one run."""
    if len(domain.vars) == 1:
        return tile
    columns = constant_value(tile.buffer.shape[1])
    assert columns is not None, "tiles have fixed sizes"
    return Region(tile.buffer, (tile.dims[0], Slice(ZERO, Const(columns))))


def _offsets(s: VectorSteps, varying: Expr, domain: Domain, tile: Region) -> Region:
    """The bytes from the first element to each one, where gaps hold what is inside the table."""
    found = s.shared.tiles.get((varying, domain))
    if found is not None:
        return found
    value = cast(_constant_inside(varying), INT32)
    made: Region | Expr
    if tile.extents != domain.extents:
        made = _past_the_rows(s, value, domain, tile)
    elif is_packed(s, INT32, domain):
        run, values = run_of(s, domain)
        made = s.typed(simplify(substitute(value, values)), INT32, run, None)
    else:
        made = s.typed(value, INT32, domain, None)
    assert isinstance(made, Region), "it follows a variable"
    s.shared.keep_for_good(varying, domain, made)
    return made


def _constant_inside(e: Expr) -> Expr:
    """A sum whose constant is added to a part that has fewer elements than all of it."""
    terms, constant = linear_form(e)
    if not constant or len(terms) < 2:
        return e
    *others, last = terms.items()
    return sum((atom * factor for atom, factor in others), last[0] * last[1] + constant)


def _past_the_rows(s: VectorSteps, value: Expr, domain: Domain, tile: Region) -> Region:
    """The offsets of rows whose last element is read again for each gap behind them."""
    if reads_memory(value):
        raise Unsuitable("rows with gaps between them are gathered by one index for each row")
    column, before = domain.vars[1], s.sizes[domain.vars[1]]
    last = simplify(domain.starts[1] + domain.extents[1] - 1)
    value = substitute(value, {column: minimum(column, last)})
    wide = Domain(domain.vars, domain.starts, tile.extents)
    s.sizes[column] = constant_value(tile.extents[1]) or before
    try:
        made = s.typed(value, INT32, wide, None)
    finally:
        s.sizes[column] = before
    assert isinstance(made, Region), "it follows a variable"
    return made


def _check_ends(e: Load, domain: Domain) -> None:
    """Raise Unsuitable where the first or last element of some variable is surely outside."""
    for var, start, extent in zip(domain.vars, domain.starts, domain.extents, strict=True):
        for end in (start, simplify(start + extent - 1)):
            check_inside(
                _element(Load(e.buffer, tuple(substitute(i, {var: end}) for i in e.indices)))
            )


def _element(e: Load) -> Region:
    return Region(e.buffer, tuple(Slice(simplify(i), Const(1)) for i in e.indices))
