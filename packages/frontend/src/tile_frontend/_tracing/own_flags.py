"""Find the decisions that a dialect leaves to the compiler in a text with flags or scopes."""

from __future__ import annotations

from tile_ir import Automatic, Body, Effect, Op, Section, walk

_PIPES = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER})
_CORES = frozenset({Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG})


def without_own_order(automatic: frozenset[Automatic], body: Body) -> frozenset[Automatic]:
    """Remove the decisions that the text makes itself. Flags of pipes mean that the author orders
    each core. Flags of cores mean that the author orders the block. Scopes mean one text for each
    core."""
    effects, scoped = set[Effect](), False
    for stmt in walk(body):
        if isinstance(stmt, Op):
            effects.add(stmt.opdef.effect)
        scoped = scoped or isinstance(stmt, Section)
    if effects & _PIPES:
        automatic -= {Automatic.SYNC, Automatic.CROSS, Automatic.BLOCKS}
    if effects & _CORES:
        automatic -= {Automatic.CROSS, Automatic.BLOCKS}
    return automatic - {Automatic.CORES} if scoped else automatic
