"""Collect the facts at a statement: intervals, definitions of variables, facts of the path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from tile_ir import (
    Binary,
    Const,
    Expr,
    For,
    Let,
    Stmt,
    Unary,
    Var,
    constant_value,
    map_own_expressions,
    reads_memory,
    replace_in,
    substitute,
)
from tile_ir.analysis import (
    INF,
    Interval,
    Ranges,
    decided,
    interval,
    narrow,
    ranges_inside,
    surely_runs,
)
from tile_ir.quick_dataclasses import dataclass, replace

# Values of expressions that read no memory.
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
        if not isinstance(stmt, Let):
            return self
        if not stmt.var.dtype.is_integer:
            return self.defined(stmt.var, stmt.value)
        known = replace(self, ranges={**self.ranges, stmt.var: interval(stmt.value, self.ranges)})
        return known.defined(stmt.var, stmt.value)

    def defined(self, var: Var, value: Expr) -> Circumstances:
        if reads_memory(value):
            return self
        return replace(self, values={**self.values, var: self.spelled(value)})

    def inside(self, stmt: Stmt) -> Circumstances:
        """In the body of a statement, in any iteration."""
        return replace(self, ranges=ranges_inside(stmt, self.ranges))

    def first_iteration(self, loop: For) -> Circumstances:
        here = self.inside(loop)
        here = replace(here, ranges={**here.ranges, loop.var: interval(loop.start, self.ranges)})
        return here.defined(loop.var, loop.start)

    def later_iteration(self, loop: For) -> Circumstances:
        """In an iteration that is not the first: one and something more behind the start."""
        here = self.inside(loop)
        found, before = here.ranges[loop.var], iterations_before(loop)
        span = Interval(found.low + 1, max(found.low + 1, found.high))
        ranges = {**here.ranges, loop.var: span, before: Interval(1, INF)}
        return replace(here, ranges=ranges).defined(loop.var, loop.start + before)

    def with_facts(self, facts: Facts) -> Circumstances:
        return self if facts is self.facts else replace(self, facts=facts)

    def spelled(self, expr: Expr) -> Expr:
        """The expression with definitions put in."""
        return substitute(expr, self.values) if self.values else expr

    def where_facts_hold(self, stmt: Stmt) -> Stmt:
        return map_own_expressions(stmt, self._with_facts) if self.facts else stmt

    def decided(self, condition: Expr) -> bool | None:
        """The truth of a condition, if it is certain."""
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
        """Whether a loop has at least one iteration."""
        return surely_runs(loop, self.ranges) or surely_runs(loop, self.ranges, self.values)


def iterations_before(loop: For) -> Var:
    """The number of iterations of a loop before the present one. No user's name has its mark."""
    return Var(f"{loop.var.name} -", loop.var.dtype)


def equalities(condition: Expr) -> Facts:
    """Equalities that hold where a condition does not: a is 8 and b is positive for the condition
    `not (a == 8 and b > 0)`. Conditions that read memory are left out, since a statement behind
    them may write it."""
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


__all__ = ["Circumstances", "Facts", "equalities", "iterations_before"]
