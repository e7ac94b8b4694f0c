"""Which rounds of a loop are run: all of them, or so many at both ends that those between are like
these. And which numbers of rounds are tried where the text does not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from tile_checkers.block.streams import CROSS
from tile_checkers.block.values import Values
from tile_checkers.section.conditions import decide
from tile_checkers.section.loops import SYNC
from tile_ir import (
    Binary,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    expressions,
    loads,
    reads_memory,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import Interval, Ranges, loop_range, rounds_of
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS, joint_period, periods

# Rounds that overflow a counter which nothing holds back.
MANY = 17
# More small numbers of rounds than this are not tried.
MOST_SMALL = 8


class LoopIterations:
    """What one loop is like."""

    def __init__(self, loop: For | While) -> None:
        self.loop = loop
        self.inside = list(walk_statements(loop.body))

    @cached_property
    def trips(self) -> Expr:
        """How many rounds there are."""
        assert isinstance(self.loop, For), "a while has no number of rounds"
        return self.loop.stop - self.loop.start

    @cached_property
    def signals(self) -> bool:
        """Whether other cores take part."""
        return any(isinstance(s, Op) and s.opdef.effect in CROSS for s in self.inside)

    @cached_property
    def innermost(self) -> bool:
        """Whether no loop inside has signals."""
        return not any(
            isinstance(s, (For, While)) and LoopIterations(s).signals for s in self.inside
        )

    @cached_property
    def lets(self) -> dict[Var, Expr]:
        return {
            s.var: s.value for s in self.inside if isinstance(s, Let) and not reads_memory(s.value)
        }

    @cached_property
    def asked(self) -> list[tuple[Stmt, Expr]]:
        """The expressions inside that depend on the loop variable, in terms of it."""
        if isinstance(self.loop, While):
            return []
        var = self.loop.var
        found: list[tuple[Stmt, Expr]] = []
        for s in self.inside:
            for e in expressions(s):
                stated = resolved(e, self.lets)
                if not isinstance(s, Let) and any(v == var for v in walk_expr(stated)):
                    found.append((s, stated))
        return found

    @cached_property
    def period(self) -> int:
        """After so many rounds slots and ids are the same again."""
        if isinstance(self.loop, While):
            return 1
        return joint_period(self.moduli, MOST_RESIDUES_OF_EVENTS)

    @cached_property
    def phases(self) -> int:
        """After so many rounds ways and ids are the same again, and with them what counters do."""
        return joint_period(self.choosing, MOST_RESIDUES_OF_EVENTS)

    @cached_property
    def moduli(self) -> list[int]:
        """What the loop variable is taken modulo."""
        if isinstance(self.loop, While):
            return []
        var = self.loop.var
        return sorted({m for _, e in self.asked for m in periods(e, var)})

    @cached_property
    def choosing(self) -> list[int]:
        """Those that choose ways and ids; places in gm are compared by themselves."""
        if isinstance(self.loop, While):
            return []
        var = self.loop.var
        ids = (e for s, e in self.asked if isinstance(s, Op) and s.opdef.effect in SYNC | CROSS)
        ways = (e for s, e in self.asked if not isinstance(s, (Op, Store)))
        return sorted({m for e in (*ids, *ways) for m in periods(e, var)})

    def tried(self, long: bool) -> Iterable[int]:
        """Numbers of rounds that stand for all others, with those that overflow a counter: in the
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
        """Some rounds at both ends, with as many left out as keep the phase of the last one; all
        of them if those between are not alike. `period` is that of all loops, so that those of two
        cores are cut alike."""
        limit = 2 * period + 2 + (MANY if self.signals else 0)
        if count <= limit + period or period % self.period:
            return range(count)
        skipped = (count - limit) // period * period
        first = limit // 2
        if not self._alike(first, first + skipped, values, known):
            return range(count)
        return _both_ends(first, skipped, count)

    def _alike(self, low: int, high: int, values: Values, known: Ranges) -> bool:
        """Whether all rounds of a stretch take the same ways as others of their phase."""
        if isinstance(self.loop, While) or any(self.period % m for m in self.choosing):
            return False
        if any(isinstance(s, Store) and s.buffer.memory is Memory.VAR for s in self.inside):
            return False
        deciding = (load for s in self.inside if not _stores(s) for load in loads(s))
        if any(load.buffer in values.written for load in deciding):
            return False  # each round may find something else
        var, start = self.loop.var, values.value(self.loop.start)
        turn = rounds_of(var)
        known = dict(known)
        for inner in self.inside:
            if isinstance(inner, For):
                known[inner.var] = loop_range(inner, known)
        for stmt, stated in self.asked:
            if isinstance(stmt, Op):
                # An id that goes on with the variable is another one in each round.
                chooses = stmt.opdef.effect in SYNC | CROSS
                if chooses and not periods(stated, var):
                    return False
                continue
            if isinstance(stmt, Store):
                continue
            if not isinstance(stmt, If):
                return False
            for phase in range(self.period):
                span = Interval((low - phase) // self.period, (high - phase) // self.period)
                value = start + turn * self.period + phase
                within = {**known, turn: span}
                for part in _parts(resolved(stated, {var: value})):
                    form = simplify(part)
                    same = all(v != turn for v in walk_expr(form))
                    if not same and decide(form, within, values.bound, values.bound) is None:
                        return False
        return True


def _parts(condition: Expr) -> Iterator[Expr]:
    """What a condition asks: the comparisons it is made of."""
    match condition:
        case Unary(op="not", operand=x):
            yield from _parts(x)
        case Binary(op="and" | "or", left=a, right=b):
            yield from _parts(a)
            yield from _parts(b)
        case _:
            yield condition


def _stores(stmt: Stmt) -> bool:
    """Whether a statement stores at a place that nothing in memory decides: what it stores does not
    choose ways."""
    return isinstance(stmt, Store) and not any(map(reads_memory, stmt.indices))


def _both_ends(first: int, skipped: int, count: int) -> Iterator[int]:
    yield from range(first)
    yield from range(first + skipped, count)


__all__ = ["MANY", "LoopIterations"]
