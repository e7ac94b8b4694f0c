"""Which kind of core does the scalar stores to gm that stand outside of any scope."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    CORE_OF_MEMORY,
    Automatic,
    Body,
    Core,
    Func,
    Memory,
    Op,
    Section,
    Stmt,
    Store,
    bodies,
    core_of,
    walk,
)
from tile_passes.analysis.lane_dependence import done_by_lanes


def unscoped_stores_are_of_vector(func: Func) -> bool:
    """Whether the vector cores do them: where these have other work that is not the cube core's,
    where their number decides a store, or where the compiler chooses and the cube core has no
    work."""
    body = func.launch.body
    if any(_works(s) for s in outside_of(body, Core.CUBE)):
        return True
    if Automatic.CORES in func.automatic and not any(map(_is_of_cube, walk(body))):
        return True
    by_lanes = done_by_lanes(body, func.launch.lane)
    return any(
        isinstance(s, Store) and s.buffer.memory is Memory.GM and s in by_lanes
        for s in outside_of(body, Core.CUBE, Core.VECTOR)
    )


def outside_of(body: Body, *cores: Core) -> Iterator[Stmt]:
    """All statements but those in sections of some cores."""
    for stmt in body:
        if not (isinstance(stmt, Section) and stmt.core in cores):
            yield stmt
            for inner in bodies(stmt):
                yield from outside_of(inner, *cores)


def _is_of_cube(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and core_of(stmt) is Core.CUBE


def _works(stmt: Stmt) -> bool:
    return (isinstance(stmt, Op) and core_of(stmt) is Core.VECTOR) or (
        isinstance(stmt, Store) and CORE_OF_MEMORY.get(stmt.buffer.memory) is Core.VECTOR
    )
