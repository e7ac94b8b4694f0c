"""Coalesce intervals although an operation touches both, since its result may take the place of an
operand (as register allocation does for copies)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.in_place import InPlacePair, places
from tile_passes.analysis.live_ranges import interfere, pressure, union
from tile_passes.memory.allocation_problem import AllocationProblem, Interval

# Intervals that are one, by number.
Group = list[int]


def groupings(problem: AllocationProblem) -> Iterator[list[Group]]:
    """Which intervals become one: none of them, only where there is no room otherwise, all that
    can; first the first operands, then the last."""
    sizes = {i: problem.sizes[i] for i in problem.free}
    tried = [[[i] for i in problem.free]]
    yield tried[0]
    pairs = [p for p in problem.in_place if p.source in sizes and p.result in sizes]
    for order, room in ((pairs, problem.room), (pairs[::-1], problem.room), (pairs, -1)):
        groups = _grouped(problem, order, sizes, room)
        if groups not in tried:
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
    free = (pair for pair in problem.apart if pair <= number.keys())
    apart = frozenset(frozenset(number[i] for i in pair) for pair in free)
    fixed = tuple(i for i in old if i.address is not None)
    return replace(problem, intervals=(*made, *fixed), in_place=(), apart=apart)


def _grouped(
    problem: AllocationProblem, pairs: Sequence[InPlacePair], sizes: Mapping[int, int], room: int
) -> list[Group]:
    """Join intervals at the points that need more than there is room."""
    live = [i.live for i in problem.intervals]
    loads = pressure(live, sizes)
    group = {i: [i] for i in sizes}
    allowed = places(pairs)
    for p in sorted(pairs, key=lambda p: -loads[p.point]):
        first, second = group[p.source], group[p.result]
        if loads[p.point] <= room or first is second:
            continue
        if any(
            {a, b} in problem.apart or interfere(live[a], live[b], allowed.get((a, b), ()))
            for a, b in product(first, second)
        ):
            continue
        loads[p.point] -= min(sizes[p.source], sizes[p.result])
        first += second
        for i in second:
            group[i] = first
    return [sorted(g) for i, g in group.items() if i == min(g)]
