"""Carry elements by the scalar unit between tiles and places that no tile operation reaches, so
that the vector unit can compute functions that the scalar unit lacks. Values of the scalar unit go
to gm by a copy, as cores that store into one line of its data cache race."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tile_ir import (
    ONE,
    OPS,
    ZERO,
    Body,
    Buffer,
    Expr,
    For,
    Load,
    LoopKind,
    Op,
    Region,
    Stmt,
    Store,
    bodies,
    is_constant,
    map_expressions,
    simplify,
    substitute,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, ranges_inside, with_ranges
from tile_passes.parallel.accesses import access
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.tile_steps import TileSteps, check_inside
from tile_passes.parallel.vector_steps import VectorSteps


def reachable(s: VectorSteps, buffer: Buffer, indices: tuple[Expr, ...], domain: Domain) -> bool:
    """Whether tile operations surely reach the elements: a copy of them is legal."""
    probe = TileSteps(s.store, domain, s.known, s.temporaries, s.trial, s.dense)
    try:
        region = access(buffer, indices, domain).region
        probe.sizes = s.sizes
        tile = probe.tile(region.dtype, domain)
        probe.copy(region, tile)
        s.temporaries.give_back(tile.buffer)
    except Unsuitable:
        return False
    return not probe.conditions


def gathered(s: VectorSteps, e: Load, domain: Domain) -> Region:
    """A tile that the scalar unit has filled with the elements."""
    tile = s.tile(e.dtype, domain)
    s.steps.append(_element_loop(s, domain, Store(tile.buffer, _places(domain), e, s.loc)))
    return tile


def scattered(s: VectorSteps) -> None:
    """The value of the store in a tile, from which the scalar unit takes the elements."""
    store, domain = s.store, s.domain
    value = s.typed(store.value, store.buffer.dtype, domain, None)
    if isinstance(value, Region):
        if value.buffer not in s.temporaries.taken:
            tile = s.tile(value.dtype, domain)
            s.copy(value, tile)
            value = tile
        value = Load(value.buffer, _places(domain))
    s.steps.append(_element_loop(s, domain, Store(store.buffer, store.indices, value, s.loc)))


def stored_by_copy(s: VectorSteps) -> None:
    """The value of a store to gm in a tile that the scalar unit fills, and a copy of that; of one
    element if the domain has no variables. Raises Unsuitable."""
    filling = stored_to_tile(s)
    s.steps.insert(0, _element_loop(s, s.domain, filling) if s.domain.vars else filling)


def stored_to_tile(s: VectorSteps) -> Store:
    """The store of an element to a tile, which a copy takes to gm. Raises Unsuitable."""
    store, domain = s.store, s.domain
    target = access(store.buffer, store.indices, domain)
    if set(target.used) != set(domain.vars):
        raise Unsuitable(f"all iterations write the same element of `{store.buffer.name}`")
    check_inside(target.region)
    places = _places(domain)
    dtype, extents = store.buffer.dtype, tuple(d.extent for d in target.region.dims)
    if not domain.vars:
        tile = s.temporaries.take(dtype, (ONE,), (1,), True, s.loc)
        # Copies are cut where the tensor ends; an element beyond that is an error.
        s.append(Op(OPS["copy_ub_gm"], (tile, target.region), (), s.loc))
        return Store(tile.buffer, (ZERO,), store.value, s.loc)
    if len(domain.vars) == 1 and len(extents) > 1 and is_constant(extents[-1], 1):
        # A column: transfers start each of its rows at a block of its own.
        rows = s.sizes[domain.vars[0]]
        tile = s.temporaries.take(dtype, (*domain.extents, ONE), (rows, 1), False, s.loc)
        places = (*places, ZERO)
    else:
        tile = s.tile(dtype, domain)
    s.copy(tile, target.region)
    return Store(tile.buffer, places, store.value, s.loc)


def stored_by_copies(
    body: Body, known: Ranges, copied: Callable[[Store, Ranges], Sequence[Stmt]]
) -> Body:
    """Scalar loops in which the elements that `copied` can take go to gm by copies of their own:
    the scalar unit stores lines of 64 bytes, in which other cores may have elements."""
    result: list[Stmt] = []
    for stmt, here in with_ranges(body, known):
        steps = copied(stmt, here) if isinstance(stmt, Store) else ()
        inside = ranges_inside(stmt, here)
        inner = tuple(stored_by_copies(b, inside, copied) for b in bodies(stmt))
        result += steps or (with_bodies(stmt, inner),)
    return with_statements(body, result)


def _places(domain: Domain) -> tuple[Expr, ...]:
    return tuple(v - start for v, start in zip(domain.vars, domain.starts, strict=True))


def _element_loop(s: VectorSteps, domain: Domain, store: Store) -> For:
    inner: Stmt = store
    for var, start, extent in reversed(
        list(zip(domain.vars, domain.starts, domain.extents, strict=True))
    ):
        fresh = s.temporaries.builder.scalar(var.name)
        renamed = map_expressions((inner,), partial(substitute, values={var: fresh}))
        inner = For(fresh, start, simplify(start + extent), LoopKind.SERIAL, renamed, s.loc)
    assert isinstance(inner, For), "a domain has a variable"
    return inner
