"""How often loops run: in terms of what is known where they begin, at least and at most."""

from __future__ import annotations

from collections.abc import Iterable

from tile_ir.analysis.intervals import Interval, Ranges, interval
from tile_ir.expr import Expr, constant_value, reads_memory
from tile_ir.nodes import For
from tile_ir.scalars.affine import NO_VALUES, Values, difference, resolved


def trip_count(loop: For, values: Values = NO_VALUES) -> Expr:
    """The number of iterations; less than zero where there is none, too."""
    return difference(resolved(loop.stop, values), resolved(loop.start, values))


def constant_trips(loop: For, values: Values = NO_VALUES) -> int | None:
    """That number where it is a constant."""
    return constant_value(trip_count(loop, values))


def trips(loop: For, known: Ranges, values: Values = NO_VALUES) -> Interval:
    """What that number may be."""
    found = interval(trip_count(loop, values), known)
    return Interval(max(0, found.low), max(0, found.high))


def surely_runs(
    loop: For, known: Ranges, values: Values = NO_VALUES, around: Iterable[For] = ()
) -> bool:
    """Whether the body runs at least once: for all `known` values, or because it has at least as
    many iterations as a loop `around`, which runs while it does."""
    if trips(loop, known, values).low >= 1:
        return True
    count = trip_count(loop, values)
    # What is loaded may have changed since the loop around began.
    return not reads_memory(count) and any(
        interval(difference(count, trip_count(outer, values)), known).low >= 0 for outer in around
    )
