"""What is found out about the statements of a block once, for all runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from tile_checkers.block.rounds import LoopIterations
from tile_checkers.block.streams import CROSS, Stream
from tile_ir import Break, Expr, For, If, Let, Op, Var, While, walk_expr
from tile_ir import walk as walk_statements
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS, joint_period


@dataclass(slots=True)
class Shape:
    """`period` is after how many rounds the loops of all streams are the same, `phases` after how
    many they take the same ways; `defined` has what variables are made of, and `deciding` those
    that branches depend on."""

    period: int
    phases: int
    defined: dict[Var, tuple[Expr, ...]] = field(default_factory=dict)
    rounds: dict[int, LoopIterations] = field(default_factory=dict)
    bounds: list[tuple[LoopIterations, frozenset[Var]]] = field(default_factory=list)
    deciding: set[Var] = field(default_factory=set)
    signalling: dict[int, bool] = field(default_factory=dict)

    def of(self, loop: For | While) -> LoopIterations:
        found = self.rounds.get(id(loop))
        if found is None:
            found = self.rounds[id(loop)] = LoopIterations(loop)
        return found

    def tried(self, trips: Expr, long: bool) -> Iterable[int]:
        """Numbers of rounds that stand for all others, in every loop that depends on the same
        variables: whichever asks first decides for all of them."""
        mine = self.behind(trips)
        its = (r.tried(long) for r, others in self.bounds if others & mine)
        return dict.fromkeys(n for numbers in its for n in numbers)

    def few(self, trips: Expr, long: bool) -> float:
        """Up to so many rounds are tried with so many of all other loops: all ways and ids are met
        again. There is no such number where branches depend on it, or where nested loops have to
        overflow a counter together."""
        if long or self.behind(trips) & self.deciding:
            return math.inf
        return self.phases + 1

    def behind(self, expr: Expr) -> frozenset[Var]:
        """The variables an expression depends on, those of definitions and bounds included."""
        found: set[Var] = set()
        waiting = [expr]
        while waiting:
            new = {e for e in walk_expr(waiting.pop()) if isinstance(e, Var)} - found
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
    loops: list[tuple[LoopIterations, Expr]] = []
    asked: list[Expr] = []
    defined: dict[Var, tuple[Expr, ...]] = {}
    for stream in streams:
        for stmt in walk_statements(stream.body):
            match stmt:
                case Let():
                    defined[stmt.var] = (stmt.value,)
                case For():
                    defined[stmt.var] = stmt.start, stmt.stop
                    loops.append((LoopIterations(stmt), stmt.stop - stmt.start))
                case If():
                    asked.append(stmt.condition)
                case While():
                    loops.append((LoopIterations(stmt), stmt.condition))
    period = joint_period((r.period for r, _ in loops), MOST_RESIDUES_OF_EVENTS)
    phases = joint_period((r.phases for r, _ in loops), MOST_RESIDUES_OF_EVENTS)
    shape = Shape(period, phases, defined)
    shape.bounds += [(r, shape.behind(bound)) for r, bound in loops]
    shape.deciding.update(*(shape.behind(condition) for condition in asked))
    return shape


__all__ = ["Shape", "shape_of"]
