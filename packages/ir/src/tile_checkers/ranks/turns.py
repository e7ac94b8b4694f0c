"""Find the numbers of turns that stand for all, in a loop whose turns are alike for other ranks
too.

In turn t a core signals and waits for the number of the turn. It touches places that repeat after
`period` turns. So two accesses that meet do so in turns that are at most `period` apart, or else
one of them has a repetition in between. Of the signals that may end a wait, those of the next turns
up to `period` - 1 are the weakest. All of this happens within twice as many turns. Later turns wait
for more than the first one, never for less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import lcm

from tile_checkers.loop_facts import CROSS, FLAGS, effects_in
from tile_ir import (
    Binary,
    Body,
    Buffer,
    Const,
    Effect,
    Expr,
    For,
    If,
    Let,
    Op,
    Stmt,
    Var,
    While,
    expressions,
    linear_form,
    reads_memory,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis.accesses import regions_of
from tile_ir.analysis.residues import periods
from tile_ir.expr import rebuild
from tile_ir.ranks import is_symmetric

# Turns are followed where no more of them have to be.
TURNS_FOLLOWED = 4
_WORDS = frozenset({Effect.SIGNAL, Effect.AWAIT_SIGNAL})
_FOR_OTHERS = _WORDS | CROSS


def turns_that_stand(
    cores: Iterable[Body], words: frozenset[Buffer]
) -> tuple[Var, tuple[int, ...]] | None:
    """The variable with the number of turns, if such a loop is all that cores run, and the numbers
    of turns that stand for all."""
    counts, period = set(), 1
    for body in cores:
        match body:
            case (For(stop=Var() as count, body=(first, *_)) as loop,) if _of_tasks(first):
                counts.add(count)
                period = lcm(period, _Turns(loop, words).period() or TURNS_FOLLOWED)
            case _:
                return None
    if len(counts) != 1 or 2 * period > TURNS_FOLLOWED:
        return None
    return counts.pop(), tuple(dict.fromkeys((1, *range(period + 1, 2 * period + 1))))


def _of_tasks(first: Stmt) -> bool:
    """Whether a loop that begins so does a list of tasks: with the number of the turn, or with the
    first task where nothing is left of that."""
    match first:
        case Let(loc=loc):
            return loc.generated
        case For(task=task):
            return task is not None
    return False


class _Turns:
    """The dependence of a loop on the turn's number. Only signals and waits touch `words`."""

    def __init__(self, loop: For, words: frozenset[Buffer]) -> None:
        self.loop, self.words = loop, words
        self.inside = list(walk_statements(loop.body))
        self.lets = {s.var: s.value for s in self.inside if isinstance(s, Let)}

    def period(self) -> int | None:
        """The number of turns after which places repeat. None if turns differ in more than places
        and the numbers that they signal."""
        found = [self._of(expr) for stmt in self.inside for expr in self._deciding(stmt)]
        if None in found or not self._count_alike():
            return None
        return lcm(*(n for n in found if n is not None))

    def _deciding(self, stmt: Stmt) -> Iterator[Expr]:
        """The expressions that decide the effect of a statement on other ranks."""
        for region, *_ in regions_of(stmt):
            if is_symmetric(region.buffer) or region.buffer in self.words:
                for s in region.dims:
                    yield from (s.offset, s.extent)
        match stmt:
            case If(condition=condition) if self._for_others(stmt) and not self._later(stmt):
                yield condition
            case For(start=start, stop=stop) if self._for_others(stmt):
                yield from (start, stop)
            case While(condition=condition) if self._for_others(stmt):
                yield condition
            case Op(opdef=opdef) if opdef.effect in FLAGS | CROSS:
                yield from expressions(stmt)

    def _for_others(self, stmt: Stmt) -> bool:
        if not _FOR_OTHERS.isdisjoint(effects_in(stmt)):
            return True
        regions = (r for s in walk_statements((stmt,)) for r, *_ in regions_of(s))
        return any(is_symmetric(r.buffer) or r.buffer in self.words for r in regions)

    def _later(self, branch: If) -> bool:
        """Whether all turns but the first wait for more."""
        waits = all(
            isinstance(s, For) or (isinstance(s, Op) and s.opdef.effect is Effect.AWAIT_SIGNAL)
            for s in walk_statements(branch.then)
        )
        return waits and not branch.orelse and branch.condition == (self.loop.var > 0)

    def _of(self, expr: Expr) -> int | None:
        """After how many turns an expression is the same again; 1 if it is the same in all."""
        stated = simplify(resolved(expr, self.lets))
        if self.loop.var not in walk_expr(stated):
            return 1
        found = lcm(*periods(stated, self.loop.var))
        again = simplify(_without_remainders(stated))
        return None if self.loop.var in walk_expr(again) or reads_memory(stated) else found

    def _count_alike(self) -> bool:
        """Whether the awaited value of a word grows from turn to turn as the values it is set to.
        The proof of a few turns compares the additions of a call with the awaited value, if that
        grows with a parameter as with the turn."""
        told = [op for op in self.inside if isinstance(op, Op) and op.opdef.effect in _WORDS]
        set_here = {
            op.region("word").buffer for op in told
            if op.opdef.effect is Effect.SIGNAL and op.attr("op") != "add"
        }  # fmt: skip
        rates: dict[Buffer, set[float]] = {}
        for op in told:
            value, buffer = op.operand("value"), op.region("word").buffer
            assert isinstance(value, Expr), "the verifier has checked it"
            terms, _ = linear_form(resolved(value, self.lets))
            if any(self.loop.var in walk_expr(t) for t in terms if t != self.loop.var):
                return False
            rate = terms.get(self.loop.var, 0)
            if op.opdef.effect is Effect.SIGNAL and op.attr("op") == "add":
                if rate:
                    return False
            elif buffer in set_here or not rate or list(terms.values()) != [rate, rate]:
                rates.setdefault(buffer, set()).add(rate)
        return all(len(rate) == 1 for rate in rates.values())


def _without_remainders(expr: Expr) -> Expr:
    """An expression with nothing where it has remainders of sums."""
    match expr:
        case Binary(op="%", left=left, right=Const()) if all(
            isinstance(t, Var) for t in linear_form(left)[0]
        ):
            return Const(0, expr.dtype)
    return rebuild(expr, _without_remainders)


__all__ = ["turns_that_stand"]
