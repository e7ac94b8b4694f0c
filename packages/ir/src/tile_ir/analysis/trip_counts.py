"""Compute trip counts of loops: as expressions, and their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir.analysis.branch_feasibility import Facts, at_least
from tile_ir.analysis.intervals import Interval, Ranges
from tile_ir.expr import Expr, constant_value
from tile_ir.nodes import Body, For
from tile_ir.scalars.affine import NO_VALUES, Values, difference, resolved
from tile_ir.traversal import bodies


def trip_count(loop: For, values: Values = NO_VALUES) -> Expr:
    """The number of iterations; less than zero where there is none, too."""
    return difference(resolved(loop.stop, values), resolved(loop.start, values))


def constant_trips(loop: For, values: Values = NO_VALUES) -> int | None:
    """That number where it is a constant."""
    return constant_value(trip_count(loop, values))


def trips(loop: For, known: Ranges, values: Values = NO_VALUES, facts: Facts = ()) -> Interval:
    """The bounds of the trip count, for all `known` values and where the `facts` hold."""
    count = trip_count(loop, values)
    low, high = at_least(count, known, facts), -at_least(-count, known, facts)
    return Interval(max(0, low), max(0, high))


def surely_runs(loop: For, known: Ranges, values: Values = NO_VALUES) -> bool:
    """Whether the body runs at least once."""
    return trips(loop, known, values).low >= 1


def executions(body: Body, times: int = 1) -> Iterator[tuple[For, int]]:
    """How many iterations each loop of a body has in all, where loops around it repeat it; those of
    a length that is not constant count once."""
    for stmt in body:
        here = times
        if isinstance(stmt, For):
            here *= constant_trips(stmt) or 1
            yield stmt, here
        for inner in bodies(stmt):
            yield from executions(inner, here)
