"""Addresses in a memory too small for its buffers side by side: those never live at the same time
share bytes, and where that is not enough, operations write in place."""

from __future__ import annotations

from collections.abc import Iterable

from tile_passes.memory.allocation_problem import AllocationProblem
from tile_passes.memory.coalescing import Group, coalesced, groupings
from tile_passes.memory.exact_search import Solution, exact_search
from tile_passes.memory.linear_scan import ORDERS, linear_scan, scans

# Steps of an exact search (about 65,000 take a second): of one that is not worth a wait, of one for
# each way to write in place, and of one for a hard case behind all of these.
QUICK_SEARCH, SHORT_SEARCH, LONG_SEARCH = 200, 10_000, 300_000


def allocate(problem: AllocationProblem, *, thorough: bool = True) -> Solution:
    """Addresses of all intervals; without much of a search unless it is to be `thorough`."""
    waiting: Iterable[tuple[list[Group], AllocationProblem]] = (
        (groups, coalesced(problem, groups)) for groups in groupings(problem)
    )
    hard: list[tuple[list[Group], AllocationProblem]] = []
    for limit in (SHORT_SEARCH, LONG_SEARCH) if thorough else (QUICK_SEARCH,):
        hard = []
        for groups, joined in waiting:
            found = place(joined, limit)
            if found.addresses is not None:
                of_group = zip(groups, found.addresses, strict=False)
                taken_apart = {i: address for group, address in of_group for i in group}
                return Solution(problem.addresses(taken_apart), True)
            if not found.certain:
                hard.append((groups, joined))
        waiting = hard
    return Solution(None, not hard)


def place(problem: AllocationProblem, limit: int = SHORT_SEARCH) -> Solution:
    """Addresses at which no two intervals that interfere share a byte.

    The first of several linear scans that has a place for all. Otherwise each part of the
    interference graph for itself, by linear scan or by an exact search of about `limit` steps.
    """
    if problem.bound > problem.room:
        return Solution(None, True)
    found = next(scans(problem), None)
    if found is not None:
        return Solution(problem.addresses(found), True)
    import networkx as nx  # most kernels have room enough and need no graph

    found, steps = {}, 0
    for part in nx.connected_components(problem.interference):
        among = sorted(part)
        quick = (linear_scan(problem, o, unused_first=False, among=among) for o in ORDERS)
        alone = next((s for s in quick if s is not None), None)
        if alone is None:
            outcome = exact_search(problem, among, limit)
            steps += outcome.steps
            if outcome.addresses is None:
                return Solution(None, outcome.certain, steps)
            alone = dict(zip(among, outcome.addresses, strict=True))
        found.update(alone)
    return Solution(problem.addresses(found), True, steps)
