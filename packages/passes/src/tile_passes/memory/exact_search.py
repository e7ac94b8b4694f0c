"""A search for a placement that is complete: it finds one if there is one.

Among all placements one has the least sum of addresses. In order of address, each of its intervals
lies as low as the earlier ones that it interferes with let it, and no interval fits whole below the
next one. So it is enough to place them upwards, each at the lowest address left to it (the idea is
known from exact memory planners for neural networks). Not here: quick ways that mostly suffice
(`linear_scan`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.lowest_place import lowest_place
from tile_passes.memory.allocation_problem import AllocationProblem

# Steps of the search by each preference: a wrong early choice may take long to be taken back.
SHORT = 2000


@dataclass(frozen=True, slots=True)
class Solution:
    """Addresses in the order of the intervals, or None: there is no placement, or, not `certain`,
    none was found; and the steps that a search took."""

    addresses: tuple[int, ...] | None
    certain: bool
    steps: int = 0


def exact_search(problem: AllocationProblem, among: Sequence[int], limit: int) -> Solution:
    """Look for a placement of intervals that interfere with no others, in at most about `limit`
    steps (intervals placed): by several preferences for a short time, then by the first."""
    search = _ExactSearch(problem, among)
    ranks = search.ranks()
    steps = 0
    for rank, most in [*((r, min(SHORT, limit)) for r in ranks), (ranks[0], limit)]:
        found = search.run(rank, most)
        steps += found.steps
        if found.certain:
            break
    return Solution(found.addresses, found.certain, steps)


class _State(NamedTuple):
    """Intervals placed so far, from low to high addresses; the last is `number`, its address and
    rank `last`. `low`: the lowest address left to each, -1 where it is placed. Of each clique the
    bytes that are `left`, and the `floor` above which they go."""

    number: int
    last: tuple[int, int]
    low: tuple[int, ...]
    left: tuple[int, ...]
    floor: tuple[int, ...]


class _ExactSearch:
    """The intervals by their place in this search, in tables: a search reads neighbours
    and cliques at every step, where the graph's own would take several times as long."""

    def __init__(self, problem: AllocationProblem, among: Sequence[int]) -> None:
        new = {old: i for i, old in enumerate(among)}
        self.gaps = problem.gaps
        self.end = self.gaps[-1][1] if self.gaps else 0
        self.sizes = [problem.sizes[i] for i in among]
        self.neighbours = [sorted(new[j] for j in problem.interference[i]) for i in among]
        cliques = [c for c in problem.cliques if not c.isdisjoint(new)]
        self.left = tuple(sum(problem.sizes[i] for i in clique) for clique in cliques)
        self.cliques = [[g for g, clique in enumerate(cliques) if i in clique] for i in among]
        self.above = cache(self._above)

    def ranks(self) -> list[list[int]]:
        """Orders of preference among intervals that can be placed equally low."""
        size, degree = self.sizes, [len(m) for m in self.neighbours]
        weight = [max((self.left[g] for g in mine), default=0) for mine in self.cliques]
        keys = (
            lambda i: (-weight[i], -degree[i], -size[i], i),
            lambda i: (-degree[i], -size[i], i),
            lambda i: (-size[i], -degree[i], i),
            lambda i: (-degree[i] * size[i], i),
        )
        numbers = range(len(size))
        orders = [sorted(numbers, key=key) for key in keys]
        return [sorted(numbers, key=order.__getitem__) for order in orders]

    def run(self, rank: Sequence[int], limit: int) -> Solution:
        low = tuple(self.lowest(0, size) for size in self.sizes)
        start = _State(-1, (0, -1), low, self.left, (0,) * len(self.left))
        if not low:
            return Solution((), True)
        if any(at + n > self.end for at, n in zip(low, self.sizes, strict=True)):
            return Solution(None, True)
        # For the lowest addresses left: from which place on the rest is known not to fit.
        failed: dict[tuple[int, ...], tuple[int, int]] = {}
        path = [(start, self.choices(start, rank))]
        steps = 0
        while path:
            state, choices = path[-1]
            choice = next(choices, None)
            if choice is None:
                failed[state.low] = state.last
                path.pop()
                continue
            steps += 1
            if steps > limit:
                return Solution(None, False, steps)
            new = self.put(state, *choice)
            if new is None or (new.low in failed and failed[new.low] <= new.last):
                continue
            path.append((new, self.choices(new, rank)))
            if max(new.low) < 0:
                found = {s.number: s.last[0] for s, _ in path}
                return Solution(tuple(found[i] for i in range(len(low))), True, steps)
        return Solution(None, True, steps)

    def choices(self, state: _State, rank: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Address, rank and number of the intervals that may come next, the best one first."""
        free = [(at, i) for i, at in enumerate(state.low) if at >= 0]
        # An interval that fits whole below another one would have been placed before it.
        ceiling = min((at + self.sizes[i] for at, i in free), default=0)
        found = [(at, rank[i], i) for at, i in free if at < ceiling]
        return iter(sorted(f for f in found if f[:2] > state.last))

    def put(self, state: _State, address: int, rank: int, number: int) -> _State | None:
        """The state with one more interval; None if what is left of another, or of some clique, has
        no room above what is placed."""
        low, left, floor = list(state.low), list(state.left), list(state.floor)
        size = self.sizes[number]
        low[number], top = -1, address + size
        for other in self.neighbours[number]:
            if 0 <= low[other] < top:
                low[other] = self.lowest(top, self.sizes[other])
                if low[other] + self.sizes[other] > self.end:
                    return None
        for g in self.cliques[number]:
            left[g] -= size
            floor[g] = top
        for bytes_, start in zip(left, floor, strict=True):
            if bytes_ and bytes_ > self.above(max(start, address)):
                return None
        return _State(number, (address, rank), tuple(low), tuple(left), tuple(floor))

    def lowest(self, start: int, size: int) -> int:
        """The lowest address from `start`; the end of the memory if there is none."""
        place = lowest_place(self.gaps, size, start)
        return self.end if place is None else place

    def _above(self, start: int) -> int:
        """Bytes of room from an address on."""
        return sum(high - max(low, start) for low, high in self.gaps if high > start)
