"""Coalescing: intervals that become one although an operation touches both, since what it writes
may take the place of what it reads (known from register allocation, where copies go by it)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tile_passes.analysis.in_place import InPlacePair, places
from tile_passes.analysis.live_ranges import interfere, pressure, union
from tile_passes.memory.allocation_problem import AllocationProblem, Interval

# Intervals that are one, by number.
Group = list[int]


def groupings(problem: AllocationProblem) -> Iterator[list[Group]]:
    """Which intervals become one: none of them, only where there is no room otherwise, all that
    can; first the first operands, then the last."""
    alone = [[i] for i in problem.free]
    yield alone
    sizes = {i: problem.sizes[i] for i in problem.free}
    pairs = [p for p in problem.in_place if p.source in sizes and p.result in sizes]
    loads = pressure([i.live for i in problem.intervals], sizes)
    tried = [alone]
    for needed_only, last_first in ((True, False), (True, True), (False, False)):
        order = pairs[::-1] if last_first else pairs
        groups = _grouped(problem, order, sizes, list(loads), problem.room if needed_only else -1)
        if groups not in tried and not _joins(groups, problem):
            yield groups
        tried.append(groups)


def coalesced(problem: AllocationProblem, groups: Sequence[Group]) -> AllocationProblem:
    """The problem in which each group is one interval; these come first, those with an address
    behind them."""
    old = problem.intervals
    made = tuple(
        Interval(max(old[i].size for i in group), union(s for i in group for s in old[i].live))
        for group in groups
    )
    number = {i: n for n, group in enumerate(groups) for i in group}
    costs: dict[tuple[int, int], float] = {}
    for (a, b), cost in problem.sharing_cost.items():
        if a in number and b in number and number[a] != number[b]:
            pair = (min(number[a], number[b]), max(number[a], number[b]))
            costs[pair] = costs.get(pair, 0) + cost
    fixed = tuple(i for i in old if i.address is not None)
    return replace(problem, intervals=(*made, *fixed), in_place=(), sharing_cost=costs)


def _joins(groups: list[Group], problem: AllocationProblem) -> bool:
    """Whether a group has two that share nothing."""
    return any(
        problem.sharing_cost.get((a, b)) == math.inf
        for group in groups
        for i, a in enumerate(group)
        for b in group[i + 1 :]
    )


def _grouped(
    problem: AllocationProblem,
    pairs: Sequence[InPlacePair],
    sizes: Mapping[int, int],
    loads: list[int],
    room: int,
) -> list[Group]:
    """Join intervals at the points that need more than there is room."""
    group = {i: [i] for i in sizes}
    allowed = places(pairs)
    live = [i.live for i in problem.intervals]
    for p in sorted(pairs, key=lambda p: -loads[p.point]):
        first, second = group[p.source], group[p.result]
        if loads[p.point] <= room or first is second:
            continue
        if any(interfere(live[a], live[b], allowed.get((a, b), ())) for a in first for b in second):
            continue
        loads[p.point] -= min(sizes[p.source], sizes[p.result])
        first += second
        for i in second:
            group[i] = first
    return [sorted(g) for i, g in group.items() if i == min(g)]


__all__ = ["Group", "coalesced", "groupings"]
