"""Hold the facts at a statement: values of names, ranges of loop variables, and whether
the loops around it are in their first iteration or in a later one.

`init and kt == 0` holds in the first iteration of the loop over `kt` that starts at 0, and in no
other. The variable is replaced by the start in the first iteration, and by the start plus one plus
something that is not negative in a later one. Not here: the effects on buffers (`gen_kill`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from tile_ir import (
    Body,
    Const,
    Expr,
    For,
    Let,
    Stmt,
    Var,
    bodies,
    reads_memory,
    substitute,
    walk_expr,
)
from tile_ir.analysis import INF, Interval, Ranges, decided, loop_range
from tile_ir.quick_dataclasses import dataclass, replace

# Loops by their variables, each with whether this is its first iteration.
Iterations = frozenset[tuple[Var, bool]]
# A statement behind those around it, outermost first, each with the number of its body.
Path = tuple[tuple[Stmt, int], ...]


def paths(body: Body, around: Path = ()) -> Iterator[Path]:
    """Every statement of a text with those around it."""
    for stmt in body:
        yield (*around, (stmt, -1))
        for number, block in enumerate(bodies(stmt)):
            yield from paths(block, (*around, (stmt, number)))


@dataclass(frozen=True, slots=True)
class PathContext:
    """`lets` and `starts` have the values of names and the starts of loops; values read from memory
    are not among them, for another statement may have written it since. `iterations` are those of
    the loops that conditions distinguish, `values` those of their variables then, in terms of
    unknowns whose ranges are `more`."""

    lets: Mapping[Var, Expr] = field(default_factory=dict)
    starts: Mapping[Var, Expr] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=dict)
    iterations: Iterations = frozenset()
    values: Mapping[Var, Expr] = field(default_factory=dict)
    more: Ranges = field(default_factory=dict)

    def after(self, stmt: Stmt) -> PathContext:
        """The context of the next statement of a block."""
        if isinstance(stmt, Let) and not reads_memory(stmt.value):
            return replace(self, lets={**self.lets, stmt.var: self.spelled(stmt.value)})
        return self

    def inside(self, stmt: Stmt) -> PathContext:
        """The context of the body of a statement, in any iteration."""
        if not isinstance(stmt, For):
            return self
        ranges = {**self.ranges, stmt.var: loop_range(stmt, self.ranges)}
        if reads_memory(stmt.start):
            return replace(self, ranges=ranges)
        starts = {**self.starts, stmt.var: self.spelled(stmt.start)}
        return replace(self, ranges=ranges, starts=starts)

    def iteration(self, var: Var, first: bool) -> PathContext:
        """The context inside a loop whose start is known, in its first or in a later iteration."""
        value, more = substitute(self.starts[var], self.values), self.more
        if not first:
            passed = Var(f"{var.name} passed", var.dtype)
            value, more = value + 1 + passed, {**more, passed: Interval(0, INF)}
        iterations = self.iterations | {(var, first)}
        return replace(self, iterations=iterations, values={**self.values, var: value}, more=more)

    def spelled(self, expr: Expr) -> Expr:
        """The expression in terms of loop variables, as far as they are known."""
        return substitute(expr, self.lets)

    def decides(self, condition: Expr) -> bool | None:
        """Whether a condition is certain here, one way or the other."""
        if isinstance(condition, Const):
            return bool(condition.value)
        if not self.iterations:
            return None
        return decided(substitute(self.spelled(condition), self.values), self.more)

    def deciding_loops(self, condition: Expr) -> frozenset[Var]:
        """The loops around whose first iterations decide a condition; none if it stays open in the
        first iteration of all of them."""
        found: set[Var] = set()
        waiting = [self.spelled(condition)]
        while waiting:
            for part in walk_expr(waiting.pop()):
                if isinstance(part, Var) and part in self.starts and part not in found:
                    found.add(part)
                    waiting.append(self.starts[part])
        here = self
        for var in self.starts:
            if var in found:
                here = here.iteration(var, first=True)
        decided = found and here.decides(condition) is not None
        return frozenset(found) if decided else frozenset()
