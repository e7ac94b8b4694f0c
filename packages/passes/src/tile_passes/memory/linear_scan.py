"""Linear scan: one interval after the other, each at the lowest place that is free, none taken back
(known from register allocation). Once in one order, or in several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from tile_passes.analysis.live_ranges import LiveRange
from tile_passes.analysis.lowest_place import lowest_place
from tile_passes.memory.allocation_problem import AllocationProblem

# What to place first, by live range and size.
Order = Callable[[LiveRange, int], tuple[int, int]]


def _start(live: LiveRange) -> int:
    return live[0][0] if live else 0


def _length(live: LiveRange) -> int:
    return sum(end - start for start, end in live)


# As they begin to live makes few sharers, large ones first little waste.
ORDERS: tuple[Order, ...] = (
    lambda live, size: (_start(live), -size),
    lambda live, size: (-size, _start(live)),
    lambda live, size: (-_length(live), -size),
    lambda live, size: (-_length(live) * size, -size),
)


def linear_scan(
    problem: AllocationProblem,
    order: Order = ORDERS[0],
    *,
    unused_first: bool = True,
    among: Collection[int] | None = None,
) -> dict[int, int] | None:
    """Addresses for the intervals that have none, or some `among` them; None if one has no place.
    Bytes that no interval had before it come first if wanted: sharing makes waits."""
    result: dict[int, int] = {}
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


def scans(problem: AllocationProblem) -> Iterator[dict[int, int]]:
    """The placements that linear scans in several orders find, the preferred one first."""
    for unused_first in (True, False):
        for order in ORDERS:
            found = linear_scan(problem, order, unused_first=unused_first)
            if found is not None:
                yield found
