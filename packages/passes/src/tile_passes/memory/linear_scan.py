"""Linear scan: one interval after the other, each at the lowest place that is free, none taken back
(known from register allocation). Once in one order, or in several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from tile_passes.analysis.live_ranges import LiveRange, without_holes
from tile_passes.analysis.lowest_place import lowest_place
from tile_passes.memory.allocation_problem import AllocationProblem

# Addresses by the number of the interval.
Addresses = dict[int, int]
# What to place first, by live range and size.
Order = Callable[[LiveRange, int], tuple[int, int]]


def by_start(live: LiveRange, size: int) -> tuple[int, int]:
    return _start(live), -size


def by_size(live: LiveRange, size: int) -> tuple[int, int]:
    return -size, _start(live)


def by_length(live: LiveRange, size: int) -> tuple[int, int]:
    return -_length(live), -size


def by_area(live: LiveRange, size: int) -> tuple[int, int]:
    return -_length(live) * size, -size


# As they begin to live makes few sharers, large ones first little waste.
ORDERS: tuple[Order, ...] = (by_start, by_size, by_length, by_area)


def _start(live: LiveRange) -> int:
    return live[0][0] if live else 0


def _length(live: LiveRange) -> int:
    return sum(end - start for start, end in live)


def linear_scan(
    problem: AllocationProblem,
    order: Order = by_start,
    *,
    unused_first: bool = True,
    among: Collection[int] | None = None,
) -> Addresses | None:
    """Addresses for the intervals that have none, or some `among` them; None if one has no place.
    Bytes that no interval had before it come first if wanted: sharing makes waits."""
    result: Addresses = {}
    top = 0
    numbers = problem.free if among is None else among
    sizes, interference = problem.sizes, problem.interference
    for number in sorted(numbers, key=lambda i: order(problem.intervals[i].live, sizes[i])):
        size = sizes[number]
        address = lowest_place(problem.gaps, size, top) if unused_first else None
        if address is None:
            others = [
                (result[o], result[o] + sizes[o]) for o in interference[number] if o in result
            ]
            address = lowest_place(problem.gaps, size, 0, sorted(others))
        if address is None:
            return None
        result[number] = address
        top = max(top, address + size)
    return result


def scans(problem: AllocationProblem) -> Iterator[Addresses]:
    """The placements that linear scans in several orders find, the preferred one first. Intervals
    without holes in their live ranges are the easier ones, if not all have room then."""
    for unused_first in (True, False):
        yield from _in_orders(problem, unused_first)
    whole = tuple(replace(i, live=without_holes(i.live)) for i in problem.intervals)
    yield from _in_orders(replace(problem, intervals=whole), False)


def _in_orders(problem: AllocationProblem, unused_first: bool) -> Iterator[Addresses]:
    for order in ORDERS:
        found = linear_scan(problem, order, unused_first=unused_first)
        if found is not None:
            yield found
