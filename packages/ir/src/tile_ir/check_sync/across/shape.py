"""What is found out about the statements of a block once, for all runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from tile_ir.check_sync.across.rounds import MOST_PHASES, Rounds
from tile_ir.check_sync.across.streams import CROSS, Stream
from tile_ir.expr import Expr, Var, walk
from tile_ir.nodes import Break, For, If, Let, Op, While
from tile_ir.walk import walk as walk_statements


@dataclass(slots=True)
class Shape:
    """`period` is after how many rounds the loops of all streams are the same; `defined` has what
    variables are made of."""

    period: int
    defined: dict[Var, tuple[Expr, ...]] = field(default_factory=dict)
    rounds: dict[int, Rounds] = field(default_factory=dict)
    signalling: dict[int, bool] = field(default_factory=dict)

    def of(self, loop: For | While) -> Rounds:
        found = self.rounds.get(id(loop))
        if found is None:
            found = self.rounds[id(loop)] = Rounds(loop)
        return found

    def behind(self, expr: Expr) -> frozenset[Var]:
        """The variables an expression depends on, those of definitions and bounds included."""
        found: set[Var] = set()
        waiting = [expr]
        while waiting:
            new = {e for e in walk(waiting.pop()) if isinstance(e, Var)} - found
            found |= new
            waiting += [e for v in new for e in self.defined.get(v, ())]
        return frozenset(found)

    def signals(self, stmt: If | While) -> bool:
        """Whether other cores, or the loop around, have to do with a branch."""
        found = self.signalling.get(id(stmt))
        if found is None:
            found = self.signalling[id(stmt)] = any(
                isinstance(s, Break) or (isinstance(s, Op) and s.opdef.effect in CROSS)
                for s in walk_statements((stmt,))
            )
        return found


def shape_of(streams: Iterable[Stream]) -> Shape:
    """Nothing of loops and branches is known yet."""
    period = 1
    defined: dict[Var, tuple[Expr, ...]] = {}
    for stream in streams:
        for stmt in walk_statements(stream.body):
            if isinstance(stmt, Let):
                defined[stmt.var] = (stmt.value,)
            if isinstance(stmt, For):
                defined[stmt.var] = stmt.start, stmt.stop
                both = math.lcm(period, Rounds(stmt).period)
                period = both if both <= MOST_PHASES else period
    return Shape(period, defined)


__all__ = ["Shape", "shape_of"]
