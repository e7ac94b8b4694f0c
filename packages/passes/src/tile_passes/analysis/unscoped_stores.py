"""Which kind of core does the scalar stores to gm that stand outside of any scope."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    CORE_OF_MEMORY,
    Body,
    Core,
    Memory,
    Op,
    Section,
    Stmt,
    Store,
    Var,
    bodies,
    core_of,
    walk,
)
from tile_passes.analysis.lane_dependence import done_by_lanes


def unscoped_stores_are_of_vector(body: Body, lane: Var) -> bool:
    """Whether the vector cores do them: where these have other work that is not the cube core's,
    or where their number decides a store."""
    if any(_works(s) for s in outside_of(body, Core.CUBE)):
        return True
    by_lanes = done_by_lanes(body, lane)
    return any(
        isinstance(s, Store) and s.buffer.memory is Memory.GM and s in by_lanes
        for s in outside_of(body, Core.CUBE, Core.VECTOR)
    )


def nobody_works(body: Body) -> bool:
    """Whether neither kind of core has work of its own: any may do the stores."""
    return not any(
        isinstance(s, Section)
        or (isinstance(s, Op) and core_of(s) is not Core.EITHER)
        or (isinstance(s, Store) and s.buffer.memory in CORE_OF_MEMORY)
        for s in walk(body)
    )


def outside_of(body: Body, *cores: Core) -> Iterator[Stmt]:
    """All statements but those in sections of some cores."""
    for stmt in body:
        if not (isinstance(stmt, Section) and stmt.core in cores):
            yield stmt
            for inner in bodies(stmt):
                yield from outside_of(inner, *cores)


def _works(stmt: Stmt) -> bool:
    return (isinstance(stmt, Op) and core_of(stmt) is Core.VECTOR) or (
        isinstance(stmt, Store) and CORE_OF_MEMORY.get(stmt.buffer.memory) is Core.VECTOR
    )
