"""Find loops that concern the cores of one block alone: other ranks do not depend on their trip
count."""

from __future__ import annotations

from collections import Counter

from tile_checkers.loop_facts import CROSS, FLAGS, effects_in
from tile_ir import (
    Body,
    Break,
    Buffer,
    Effect,
    For,
    Memory,
    Op,
    Store,
    bodies,
    expressions,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis.accesses import regions_of
from tile_ir.ranks import is_symmetric

_FOR_OTHERS = frozenset({Effect.SIGNAL, Effect.AWAIT_SIGNAL, Effect.SYNC_ALL})
# How far a flag between cores reaches: those of one block.
_IN_BLOCK = (1, 2)


def of_its_block(loop: For, words: frozenset[Buffer]) -> bool:
    """Whether a loop may be left out. It touches nothing that ranks share, signals no other block
    and sets no scalar, and each iteration waits for as many flags of a core as it sets. The order
    that it creates is left out too, which can only add findings."""
    if not _FOR_OTHERS.isdisjoint(effects_in(loop)) or not _balanced(loop.body):
        return False
    for stmt in walk_statements(loop.body):
        if isinstance(stmt, Store) and stmt.buffer.memory is Memory.VAR:
            return False
        if any(is_symmetric(r.buffer) or r.buffer in words for r, *_ in regions_of(stmt)):
            return False
        if isinstance(stmt, Op) and not _stays(stmt):
            return False
    return True


def _stays(op: Op) -> bool:
    return op.opdef.effect is not Effect.SET_CROSS_FLAG or op.attr("mode") in _IN_BLOCK


def crosses(loop: For) -> bool:
    """Whether cores of the block signal each other in it."""
    return not CROSS.isdisjoint(effects_in(loop))


def _balanced(body: Body) -> bool:
    """Whether every flag of a core that statements set has its wait among them, on every path."""
    left: Counter[tuple[object, ...]] = Counter()
    for stmt in body:
        if isinstance(stmt, Break):
            return False
        if isinstance(stmt, Op) and stmt.opdef.effect in FLAGS:
            flag = (stmt.attr("src_pipe"), stmt.attr("dst_pipe"), *expressions(stmt))
            left[flag] += 1 if stmt.opdef.effect is Effect.SET_FLAG else -1
        if not all(map(_balanced, bodies(stmt))):
            return False
    return not any(left.values())


__all__ = ["crosses", "of_its_block"]
