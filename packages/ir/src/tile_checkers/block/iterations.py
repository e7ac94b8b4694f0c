"""Choose the iterations of loops that are run: all, or those at both ends that stand for the rest.

Where the text gives no trip count, some are tried: 0, 1, 2 and more of each residue.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from tile_checkers.block.streams import Stream
from tile_checkers.block.values import Values
from tile_checkers.conditions import decide
from tile_checkers.loop_facts import CROSS, FLAG, OTHER, SIGNAL, WAY, LoopFacts, effects_in
from tile_ir import (
    Binary,
    Break,
    Expr,
    For,
    If,
    Let,
    Memory,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    loads,
    reads_memory,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import Interval, Ranges, iterations_of, loop_range
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS, joint_period, periods

# Iterations that overflow a counter which nothing holds back.
MANY = 17
# More small trip counts than this are not tried.
MOST_SMALL = 8


class LoopIterations(LoopFacts):
    """A loop of one stream. Its choices repeat after `period` iterations; paths, flags and thereby
    the effect on counters repeat after `phases`."""

    @cached_property
    def trips(self) -> Expr:
        """The trip count; of a `while`, the condition stands for it."""
        loop = self.loop
        return loop.condition if isinstance(loop, While) else loop.stop - loop.start

    @cached_property
    def signals(self) -> bool:
        """Whether other cores take part."""
        return not CROSS.isdisjoint(effects_in(self.loop))

    @cached_property
    def innermost(self) -> bool:
        """Whether no loop inside has signals."""
        loops = (s for s in self.inside if isinstance(s, (For, While)))
        return all(CROSS.isdisjoint(effects_in(s)) for s in loops)

    @cached_property
    def period(self) -> int:
        return joint_period(self.periods(FLAG, SIGNAL, WAY, OTHER), MOST_RESIDUES_OF_EVENTS)

    @cached_property
    def phases(self) -> int:
        return joint_period(self.periods(FLAG, SIGNAL, WAY), MOST_RESIDUES_OF_EVENTS)

    def tried(self, long: bool) -> Iterable[int]:
        """Trip counts that stand for all others, with those that overflow a counter: in the
        innermost loops that have signals, in all of them where the attempt is `long`."""
        small = min(max(4, self.period + 2), MOST_SMALL)
        yield from (2, 1, 0)
        yield from range(3, small)
        if self.signals and (long or self.innermost):
            first = max(MANY, small)
            yield from range(first, first + self.phases)
        elif self.period > 1 and small <= self.period:
            yield from range(small, small + self.period)

    def of(self, count: int, values: Values, known: Ranges, period: int) -> Iterable[int]:
        """Some iterations at both ends, with as many left out as keep the residue of the last one;
        all of them if those between are not alike. `period` is that of all loops, so that those of
        two cores are cut alike."""
        limit = 2 * period + 2 + (MANY if self.signals else 0)
        if count <= limit + period or period % self.period:
            return range(count)
        skipped = (count - limit) // period * period
        first = limit // 2
        if not self._alike(first, first + skipped, values, known):
            return range(count)
        return (*range(first), *range(first + skipped, count))

    def _alike(self, low: int, high: int, values: Values, known: Ranges) -> bool:
        """Whether all iterations of a stretch take the same paths as others of their residue."""
        loop = self.loop
        if isinstance(loop, While) or any(self.period % m for m in self.periods(FLAG, SIGNAL, WAY)):
            return False
        if any(isinstance(s, Store) and s.buffer.memory is Memory.VAR for s in self.inside):
            return False
        deciding = (load for s in self.inside if not _stores(s) for load in loads(s))
        if any(load.buffer in values.written for load in deciding):
            return False  # each iteration may find something else
        var, start = loop.var, values.value(loop.start)
        turn = iterations_of(var)
        known = dict(known)
        for inner in self.inside:
            if isinstance(inner, For):
                known[inner.var] = loop_range(inner, known)
        for kind, stmt, stated in self.chosen:
            if kind in (FLAG, SIGNAL) and not periods(stated, var):
                return False  # an id that goes on with the variable is another one each time
            if kind != WAY:
                continue
            if not isinstance(stmt, If):
                return False
            for phase in range(self.period):
                span = Interval((low - phase) // self.period, (high - phase) // self.period)
                value = start + turn * self.period + phase
                for part in _comparisons(resolved(stated, {var: value})):
                    form = simplify(part)
                    open_end = any(v == turn for v in walk_expr(form))
                    bound = values.bound
                    if open_end and decide(form, {**known, turn: span}, bound, bound) is None:
                        return False
        return True


class BlockLoops:
    """The loops of all streams. `period` is the number of iterations after which their choices
    repeat; `defined` has the definitions of variables."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self.defined: dict[Var, tuple[Expr, ...]] = {}
        self.signalling: dict[int, bool] = {}
        loops = []
        for stmt in (s for stream in streams for s in walk_statements(stream.body)):
            match stmt:
                case Let():
                    self.defined[stmt.var] = (stmt.value,)
                case For():
                    self.defined[stmt.var] = stmt.start, stmt.stop
            if isinstance(stmt, (For, While)):
                loops.append(LoopIterations(stmt))
        self.of = {id(found.loop): found for found in loops}
        self.period = joint_period((r.period for r in loops), MOST_RESIDUES_OF_EVENTS)
        self.bounds = [(r, self.behind(r.trips)) for r in loops]

    def tried(self, trips: Expr, long: bool) -> Iterable[int]:
        """Trip counts that stand for all others, in every loop that depends on the same variables:
        the first that is met decides for all of them."""
        mine = self.behind(trips)
        its = (r.tried(long) for r, others in self.bounds if others & mine)
        return dict.fromkeys(n for numbers in its for n in numbers)

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
        """Whether a branch concerns other cores, or the loop around."""
        found = self.signalling.get(id(stmt))
        if found is None:
            leaves = any(isinstance(s, Break) for s in walk_statements((stmt,)))
            found = self.signalling[id(stmt)] = leaves or not CROSS.isdisjoint(effects_in(stmt))
        return found


def _comparisons(condition: Expr) -> Iterable[Expr]:
    """The comparisons that a condition is made of."""
    match condition:
        case Unary(op="not", operand=x):
            return _comparisons(x)
        case Binary(op="and" | "or", left=a, right=b):
            return (*_comparisons(a), *_comparisons(b))
    return (condition,)


def _stores(stmt: Stmt) -> bool:
    """Whether a statement stores at a place that does not depend on memory: its value then selects
    no path."""
    return isinstance(stmt, Store) and not any(map(reads_memory, stmt.indices))


__all__ = ["MANY", "BlockLoops", "LoopIterations"]
