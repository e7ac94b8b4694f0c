"""Loops, branches and scalar variables around the work of a mixed kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.kernels.writing import Illegal, Writer
from fuzz.mixed.work import Known, Work, condition
from tile_ir import Memory
from tile_ir.dtypes import INT32
from tile_ir.expr import Const, Expr, Load, Var
from tile_ir.nodes import Stmt

MOST_TRIPS = 4
# Rounds of the innermost body, and statements: interpreting and proving stay cheap.
MOST_ROUNDS = 16
Choice = tuple[Callable[[Known], list[Stmt]], float]


@dataclass(eq=False)
class Control:
    """`budget` is how many statements are left."""

    writer: Writer
    work: Work
    leaves: Sequence[Choice]
    budget: int

    def body(self, known: Known, least: int, most: int) -> list[Stmt]:
        result: list[Stmt] = []
        for _ in range(self.writer.rng.randint(least, most)):
            if self.budget <= 0 and result:
                break
            self.budget -= 1
            result += self.statement(known)
        return result

    def statement(self, known: Known) -> list[Stmt]:
        nest = 0.0 if known.depth >= 3 or self.budget < 2 else 1.0
        share = sum(weight for _, weight in self.leaves) / 10
        own: list[Choice] = [
            (self.for_, 2.5 * nest * share),
            (self.while_, 0.25 * nest * share),
            (self.if_, 1.0 * nest * share),
            (self.variable, 0.25 * share),
            (self.break_, 0.5 * share if known.breakable else 0.0),
        ]
        draws, weights = zip(*self.leaves, *own, strict=True)
        for _ in range(8):
            try:
                return list(self.writer.rng.choices(draws, weights)[0](known))
            except Illegal:
                continue
        return []

    def trips(self, known: Known) -> tuple[Expr, int]:
        """A number of rounds that all cores know, and the most it can be."""
        w = self.writer
        parameters = [e for e in known.integers if isinstance(e, Var) and e.name in ("n", "m")]
        room = MOST_ROUNDS // known.rounds
        if room >= MOST_TRIPS and w.chance(0.5):
            return w.rng.choice(parameters), MOST_TRIPS
        if w.chance(0.25) and room >= 2:
            return self.work.integer(known) % 3, 2
        count = w.rng.randrange(min(room, MOST_TRIPS) + 1)
        return Const(count), count

    def for_(self, known: Known) -> list[Stmt]:
        w = self.writer
        stop, most = self.trips(known)
        start: Expr = self.work.integer(known) % 4 if w.chance(0.2) else Const(0)
        var = Var(w.name("i"))
        body = self.body(known.inside(var, max(most, 1)), 1, 4)
        if not body:
            raise Illegal("nothing to repeat")
        return [w.loop(var, start + stop, tuple(body), start)]

    def while_(self, known: Known) -> list[Stmt]:
        w = self.writer
        counter = w.alloc(Memory.VAR, INT32, ())
        count = Load(counter, ())
        stop, most = self.trips(known)
        inner = known.inside(None, max(most, 1))
        inner.breakable = True
        body = self.body(inner, 1, 3)
        step = w.store(counter, (), count + 1)
        body = [step, *body] if w.chance(0.5) else [*body, step]
        return [w.store(counter, (), Const(0)), w.while_(count < stop, tuple(body))]

    def if_(self, known: Known) -> list[Stmt]:
        w = self.writer
        test = condition(w, self.work, known)
        then = self.body(known.inside(), 1, 3)
        orelse = self.body(known.inside(), 1, 2) if w.chance(0.35) else []
        if not then:
            raise Illegal("nothing to guard")
        return [w.if_(test, tuple(then), tuple(orelse))]

    def variable(self, known: Known) -> list[Stmt]:
        """A scalar variable that is written, and read from then on."""
        w = self.writer
        old = [e.buffer for e in known.integers if isinstance(e, Load)]
        value = self.work.integer(known) % 5
        if old and w.chance(0.6):
            return [w.store(w.rng.choice(old), (), value)]
        buffer = w.alloc(Memory.VAR, INT32, ())
        known.integers.append(Load(buffer, ()))
        return [w.store(buffer, (), value)]

    def break_(self, known: Known) -> list[Stmt]:
        return [self.writer.if_(condition(self.writer, self.work, known), (self.writer.break_(),))]
