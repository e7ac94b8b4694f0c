"""What is known where a statement is looked at: intervals of variables, what they stand for, what a
branch not taken says, and whether a loop around it is in its first round or in a later one.

For checks that follow a function's text. Whether the rounds of a loop need to be told apart is in
`Conditions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tile_ir.analysis.branch_feasibility import decided
from tile_ir.analysis.intervals import INF, Interval, Ranges, interval, narrow, ranges_inside
from tile_ir.analysis.trip_counts import surely_runs
from tile_ir.expr import (
    Binary,
    Const,
    Expr,
    Unary,
    Var,
    constant_value,
    reads_memory,
    substitute,
)
from tile_ir.expr import walk_expr as parts_of
from tile_ir.nodes import For, If, Let, Op, Stmt, While
from tile_ir.traversal import bodies, buffers_of, map_own_expressions, replace_in, walk

Facts = Mapping[Expr, int]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """`values` are definitions of variables, complete: no variable of one has a definition of its
    own. Definitions that read memory are left out, since they may be stale."""

    ranges: Ranges
    values: Mapping[Var, Expr] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    def behind(self, stmt: Stmt) -> Circumstances:
        """Behind a statement of the same block."""
        if not (isinstance(stmt, Let) and stmt.var.dtype.is_integer):
            return self.defined(stmt.var, stmt.value) if isinstance(stmt, Let) else self
        known = replace(self, ranges={**self.ranges, stmt.var: interval(stmt.value, self.ranges)})
        return known.defined(stmt.var, stmt.value)

    def defined(self, var: Var, value: Expr) -> Circumstances:
        if reads_memory(value):
            return self
        return replace(self, values={**self.values, var: self.spelled(value)})

    def inside(self, stmt: Stmt) -> Circumstances:
        """In the body of a statement, in any round. Facts are of one execution, not of rounds."""
        loop = isinstance(stmt, (For, While))
        ranges = ranges_inside(stmt, self.ranges)
        return replace(self, ranges=ranges, facts={} if loop else self.facts)

    def first_round(self, loop: For) -> Circumstances:
        here = self.inside(loop)
        here = replace(here, ranges={**here.ranges, loop.var: interval(loop.start, self.ranges)})
        return here.defined(loop.var, loop.start)

    def later_round(self, loop: For) -> Circumstances:
        """In a round that is not the first: one and something more behind the start."""
        here = self.inside(loop)
        rounds_before = Var(f"{loop.var.name} -", loop.var.dtype)
        found = here.ranges[loop.var]
        ranges = {
            **here.ranges,
            loop.var: Interval(found.low + 1, max(found.low + 1, found.high)),
            rounds_before: Interval(1, INF),
        }
        return replace(here, ranges=ranges).defined(loop.var, loop.start + rounds_before)

    def with_facts(self, facts: Facts) -> Circumstances:
        return replace(self, facts=facts)

    def spelled(self, expr: Expr) -> Expr:
        """The expression with definitions put in."""
        return substitute(expr, self.values) if self.values else expr

    def where_facts_hold(self, stmt: Op) -> Op:
        found = map_own_expressions(stmt, self._with_facts)
        assert isinstance(found, Op), "expressions change, not statements"
        return found

    def decided(self, condition: Expr) -> bool | None:
        """Whether a condition is certain, one way or the other."""
        found = decided(self._with_facts(condition), self.ranges)
        return found if found is not None else decided(self.spelled(condition), self.ranges)

    def _with_facts(self, expr: Expr) -> Expr:
        if not self.facts or isinstance(expr, Const):
            return expr

        def replaced(part: Expr) -> Expr | None:
            value = self.facts.get(part)
            return None if value is None else Const(value, part.dtype)

        return narrow(replace_in(expr, replaced), self.ranges)

    def surely_runs(self, loop: For) -> bool:
        """Whether a loop has at least one round."""
        return surely_runs(loop, self.ranges) or surely_runs(loop, self.ranges, self.values)


@dataclass(slots=True)
class Conditions:
    """Which loops have conditions inside that mention their variable, by whatever names; the others
    are the same in all rounds. Answers are kept."""

    known: dict[int, bool] = field(default_factory=dict)

    def tell_rounds_apart(self, loop: For) -> bool:
        found = self.known.get(id(loop))
        if found is None:
            found = self.known[id(loop)] = loop.var in _mentioned(loop)
        return found


def equalities(condition: Expr) -> Facts:
    """What holds where a condition `not (a == 8 and b > 0)` does not: that a is 8 and b positive.
    What reads memory is left out, since that may be written behind the condition."""
    return dict(_equalities(condition))


def _equalities(condition: Expr) -> Iterable[tuple[Expr, int]]:
    if not (isinstance(condition, Unary) and condition.op == "not"):
        return
    waiting = [condition.operand]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Binary) and part.op == "and":
            waiting += [part.left, part.right]
        elif not reads_memory(part):
            yield part, True
            value = constant_value(part.right) if isinstance(part, Binary) else None
            if isinstance(part, Binary) and part.op == "==" and value is not None:
                yield part.left, value


def _mentioned(loop: For) -> set[Var]:
    """The variables that conditions inside a loop depend on, as far as they matter to memory: of
    branches that touch some, and of operations that overwrite what they else add to."""
    found: set[Var] = set()
    made_of: dict[Var, set[Var]] = {}
    for stmt in walk(loop.body):
        match stmt:
            case Let(var=var, value=value):
                made_of[var] = _variables(value)
            case For(var=var, start=start):
                made_of[var] = _variables(start)
            case If(condition=condition) if _touches_memory(stmt):
                found |= _variables(condition)
            case Op():
                unless = stmt.opdef.overwrites(stmt)
                found |= _variables(unless) if unless is not None else set()
    waiting = list(found)
    while waiting:
        new = made_of.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _variables(expr: Expr) -> set[Var]:
    return {part for part in parts_of(expr) if isinstance(part, Var)}


def _touches_memory(stmt: Stmt) -> bool:
    return any(buffers_of(s) for body in bodies(stmt) for s in walk(body))


__all__ = ["Circumstances", "Conditions", "Facts", "equalities"]
