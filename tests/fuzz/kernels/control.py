"""Loops, branches and scalars around the statements of one kind of core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fuzz.kernels.scope import Scope
from fuzz.kernels.writing import Illegal, Writer
from tile_ir import Memory
from tile_ir.dtypes import INT32
from tile_ir.expr import Const, Expr, Load, Var, binary, equal, select, walk_expr
from tile_ir.nodes import Stmt

MOST_TRIPS = 4
# Rounds of the innermost body, so that interpreting stays cheap.
MOST_ROUNDS = 40


Draw = Callable[[Scope], list[Stmt]]


def drawn(writer: Writer, scope: Scope, choices: Sequence[tuple[Draw, float]]) -> list[Stmt]:
    """What one of the weighted choices gives, or nothing if none is possible."""
    draws, weights = zip(*choices, strict=True)
    before = scope.inside()
    for _ in range(8):
        try:
            return list(writer.rng.choices(draws, weights)[0](scope))
        except Illegal:
            scope.forget(before)
    return []


class Leaves(Protocol):
    """What differs between the kinds of cores."""

    def leaf(self, scope: Scope) -> list[Stmt]:
        """A statement without others inside."""

    def pattern(self, scope: Scope) -> list[Stmt]:
        """Statements that belong together."""

    def loaded_integer(self, scope: Scope) -> Expr | None:
        """An element of a memory, as an integer from 0."""

    def loaded_condition(self, scope: Scope) -> Expr | None:
        """A condition on an element of a memory."""

    def loaded_let(self, scope: Scope) -> Stmt | None:
        """A name for an element, which it adds to the scope."""


@dataclass(eq=False)
class Control:
    """Draws statements; `budget` is how many are left."""

    writer: Writer
    leaves: Leaves
    budget: int

    def body(self, scope: Scope, least: int = 1, most: int = 5) -> list[Stmt]:
        result: list[Stmt] = []
        for _ in range(self.writer.rng.randint(least, most)):
            if self.budget <= 0 and result:
                break
            self.budget -= 1
            result += self.statement(scope)
        return result

    def statement(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        nest = 0.0 if scope.depth >= 3 or scope.rounds * 2 > MOST_ROUNDS else 1.0
        choices = [
            (self.leaves.leaf, 10.0),
            (self.leaves.pattern, 1.0 * nest),
            (self.for_, 2.6 * nest),
            (self.while_, 0.5 * nest),
            (self.if_, 1.4 * nest),
            (self.let, 1.2),
            (self.variable, 0.5),
            (self.break_, 0.5 if scope.breakable else 0.0),
        ]
        return drawn(w, scope, choices)

    # Scalars ------------------------------------------------------------------------------------

    def integer(self, scope: Scope) -> Expr:
        """A non-negative number."""
        w = self.writer
        if scope.integers and w.chance(0.8):
            found = w.rng.choice(scope.integers)
        else:
            found = Const(w.rng.randrange(4))
        if w.chance(0.35):
            found = found + w.rng.randrange(1, 3)
        if w.chance(0.1) and scope.integers:
            found = found + w.rng.choice(scope.integers)
        if w.chance(0.05):
            found = select(self.condition(scope, False), found, Const(w.rng.randrange(3)))
        return found

    def index(self, scope: Scope, size: int, loads: bool = True) -> Expr:
        """A number from 0 below `size`."""
        w = self.writer
        if size == 1 or w.chance(0.2):
            return Const(w.rng.randrange(size))
        if loads and w.chance(0.08):
            found = self.leaves.loaded_integer(scope)
            if found is not None:
                return found % size
        near = [v for v in scope.loops[-2:] if w.chance(0.6)]
        return (near[-1] + w.rng.randrange(3) if near else self.integer(scope)) % size

    def condition(self, scope: Scope, loads: bool = True) -> Expr:
        w = self.writer
        if loads and w.chance(0.25):
            found = self.leaves.loaded_condition(scope)
            if found is not None:
                return found
        kind = w.rng.randrange(4)
        if kind == 0 and scope.floats:
            return binary(w.rng.choice(["<", ">", ">="]), w.rng.choice(scope.floats), 0.5)
        base = w.rng.choice(scope.integers) if scope.integers else Const(1)
        if kind == 1:
            return equal(base % 2, w.rng.randrange(2))
        if kind == 2:
            return binary(w.rng.choice(["<", "<=", ">", ">="]), base, w.rng.randrange(4))
        found = binary("<", base, self.integer(scope))
        if w.chance(0.3):
            found = binary(w.rng.choice(["and", "or"]), found, equal(base % 2, 0))
        return found

    # Statements ---------------------------------------------------------------------------------

    def trips(self, scope: Scope) -> tuple[Expr, int, int]:
        """A number of rounds; the fewest and the most it can be."""
        w = self.writer
        parameters = [e for e in scope.integers if isinstance(e, Var) and e.name in ("n", "m")]
        room = MOST_ROUNDS // scope.rounds
        if room >= MOST_TRIPS and parameters and w.chance(0.65):
            return w.rng.choice(parameters), 0, MOST_TRIPS
        if w.chance(0.15):
            found = self.leaves.loaded_integer(scope)
            if found is not None:
                return found % 3, 0, 2
        if w.chance(0.15) and scope.integers:
            return w.rng.choice(scope.integers) % 3, 0, 2
        count = w.rng.randrange(min(room, MOST_TRIPS) + 1)
        return Const(count), count, count

    def for_(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        stop, fewest, most = self.trips(scope)
        var = Var(w.name("i"))
        inner = scope.inside(
            rounds=scope.rounds * max(most, 1),
            breakable=True,
            broke=False,
            integers=[*scope.integers, var],
            loops=[*scope.loops, var],
        )
        body = self.body(inner)
        if not body:
            raise Illegal("nothing to repeat")
        scope.kept(inner, fewest > 0 and not inner.broke)
        return [w.loop(var, stop, tuple(body))]

    def while_(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        counter = w.alloc(Memory.VAR, INT32, ())
        count = Load(counter, ())
        stop, fewest, most = self.trips(scope)
        if any(True for _ in _loads(stop)):
            raise Illegal("the bound of a while loop stays as it is")
        condition = count < stop
        if w.chance(0.3):
            extra = self.leaves.loaded_condition(scope)
            if extra is not None:
                condition, fewest = binary("and", condition, extra), 0
        inner = scope.inside(
            rounds=scope.rounds * max(most, 1),
            breakable=True,
            broke=False,
            integers=[*scope.integers, count],
            locked=scope.locked | {counter},
        )
        step = w.store(counter, (), count + 1)
        body = self.body(inner)
        body = [step, *body] if w.chance(0.5) else [*body, step]
        scope.kept(inner, fewest > 0 and not inner.broke)
        return [w.store(counter, (), Const(0)), w.while_(condition, tuple(body))]

    def if_(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        condition = self.condition(scope)
        then, orelse = scope.inside(), scope.inside()
        first = self.body(then, 1, 3)
        if not first:
            raise Illegal("nothing to guard")
        second = self.body(orelse, 1, 2) if w.chance(0.45) else []
        scope.broke = scope.broke or then.broke or orelse.broke
        both = then.ready & orelse.ready if second else set()
        then.ready = both
        scope.kept(then, bool(both))
        branch = w.if_(condition, tuple(first), tuple(second))
        return [replace(branch, unlikely=branch.loc.line % 3 == 0)]

    def let(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        if w.chance(0.75):
            found = self.leaves.loaded_let(scope)
            if found is not None:
                return [found]
        let = w.let(self.integer(scope) % 5)
        scope.integers.append(let.var)
        return [let]

    def variable(self, scope: Scope) -> list[Stmt]:
        """A scalar variable that is written, and read from then on."""
        w = self.writer
        known = [e.buffer for e in scope.integers if isinstance(e, Load)]
        free = [b for b in known if b not in scope.locked]
        old = w.rng.choice(free) if free and w.chance(0.6) else None
        buffer = old or w.alloc(Memory.VAR, INT32, ())
        found = self.leaves.loaded_integer(scope) if w.chance(0.5) else None
        value = (found if found is not None else self.integer(scope)) % 5
        if buffer not in known:
            scope.integers.append(Load(buffer, ()))
        return [w.store(buffer, (), value)]

    def break_(self, scope: Scope) -> list[Stmt]:
        scope.broke = True
        return [self.writer.if_(self.condition(scope), (self.writer.break_(),))]


def _loads(expr: Expr) -> list[Load]:
    return [part for part in walk_expr(expr) if isinstance(part, Load)]
