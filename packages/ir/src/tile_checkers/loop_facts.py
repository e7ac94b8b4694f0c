"""Find the choices of a loop by its variable, and the number of iterations after which they repeat.

Both checkers of order analyse a loop in residues of its variable modulo that number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from tile_ir import (
    Const,
    Effect,
    Expr,
    For,
    Let,
    Op,
    Stmt,
    Store,
    While,
    expressions,
    reads_memory,
    resolved,
    walk,
    walk_expr,
)
from tile_ir.analysis.residues import periods, slots_chosen

FLAGS = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG})
SYNC = FLAGS | {Effect.BARRIER, Effect.SYNC_ALL}
CROSS = frozenset({Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG, Effect.SYNC_ALL})
# What an expression chooses: on-chip bytes, the flag of a core, the flag between cores, the next
# statement, or anything else.
SLOT, FLAG, SIGNAL, WAY, OTHER = "slot", "flag", "signal", "way", "other"


class LoopFacts:
    """One loop, its statements, and the expressions of them that depend on its variable."""

    def __init__(self, loop: For | While) -> None:
        self.loop = loop
        self.inside = list(walk(loop.body))

    @cached_property
    def chosen(self) -> list[tuple[str, Stmt, Expr]]:
        """Expressions that depend on the loop variable, in terms of it; none for a `while`."""
        if isinstance(self.loop, While):
            return []
        var = self.loop.var
        lets = {
            s.var: s.value for s in self.inside if isinstance(s, Let) and not reads_memory(s.value)
        }
        found = []
        for stmt in self.inside:
            for kind, expr in _chosen(stmt):
                stated = expr if isinstance(expr, Const) else resolved(expr, lets)
                if any(e == var for e in walk_expr(stated)):
                    found.append((kind, stmt, stated))
        return found

    def periods(self, *kinds: str) -> set[int]:
        """Return after how many iterations choices of these kinds are the same again."""
        if isinstance(self.loop, While):
            return set()
        var = self.loop.var
        return {m for kind, _, e in self.chosen if kind in kinds for m in periods(e, var)}


@lru_cache(maxsize=8192)
def effects_in(stmt: Stmt) -> frozenset[Effect]:
    """Return the effects of the operations in a statement."""
    return frozenset(s.opdef.effect for s in walk((stmt,)) if isinstance(s, Op))


def _chosen(stmt: Stmt) -> Iterator[tuple[str, Expr]]:
    for expr in slots_chosen(stmt):
        yield SLOT, expr
    kind = WAY
    if isinstance(stmt, Op):
        effect = stmt.opdef.effect
        kind = FLAG if effect in FLAGS else SIGNAL if effect in CROSS else OTHER
    elif isinstance(stmt, Store):
        kind = OTHER
    elif isinstance(stmt, Let):
        return
    for expr in expressions(stmt):
        yield kind, expr


__all__ = [
    "CROSS",
    "FLAG",
    "FLAGS",
    "OTHER",
    "SIGNAL",
    "SLOT",
    "SYNC",
    "WAY",
    "LoopFacts",
    "effects_in",
]
