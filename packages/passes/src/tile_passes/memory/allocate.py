"""Addresses in a memory too small for its buffers side by side: those never live at the same time
share bytes, and where that is not enough, operations write in place."""

from __future__ import annotations

from collections.abc import Sequence

from tile_passes.memory.allocation_problem import AllocationProblem
from tile_passes.memory.coalescing import Group, coalesced, groupings
from tile_passes.memory.solve import SHORT_SEARCH, Solution, solve_by_any

# Steps of an exact search for a hard case, once all ways to write in place had the short one.
LONG_SEARCH = 300_000
# Of one for a placement that would be better than others.
QUICK_SEARCH = 200


def allocate(problem: AllocationProblem, *, thorough: bool = True) -> Solution:
    """Addresses of all intervals; without much of a search unless it is to be `thorough`."""
    limit = SHORT_SEARCH if thorough else QUICK_SEARCH
    hard: list[tuple[list[Group], AllocationProblem]] = []
    for groups in groupings(problem):
        joined = coalesced(problem, groups)
        found = solve_by_any(joined, limit)
        if found.addresses is not None:
            return _taken_apart(problem, groups, found.addresses)
        if not found.certain:
            hard.append((groups, joined))
    for groups, joined in hard if thorough else []:
        found = solve_by_any(joined, LONG_SEARCH)
        if found.addresses is not None:
            return _taken_apart(problem, groups, found.addresses)
        if not found.certain:
            return Solution(None, False)
    return Solution(None, True)


def _taken_apart(
    problem: AllocationProblem, groups: Sequence[Group], addresses: Sequence[int]
) -> Solution:
    found = {i: a for group, a in zip(groups, addresses, strict=False) for i in group}
    return Solution(problem.addresses(found), True)


__all__ = ["allocate"]
