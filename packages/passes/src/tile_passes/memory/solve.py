"""The solvers of an allocation problem, by name, behind one function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tile_passes.memory.allocation_problem import AllocationProblem
from tile_passes.memory.exact_search import exact_search
from tile_passes.memory.linear_scan import ORDERS, Addresses, linear_scan, scans


class Solver(Enum):
    """The cheapest first: whoever wants a placement asks one after the other."""

    LINEAR_SCAN = "linear scan"
    BEST_OF_ORDERS = "best of several orders"
    EXACT = "exact"


# Steps of an exact search that is not to take long.
SHORT_SEARCH = 10_000


@dataclass(frozen=True, slots=True)
class Solution:
    """Addresses of all intervals, or None: there is no placement, or, not `certain`, this solver
    found none; and the steps that a search took."""

    addresses: tuple[int, ...] | None
    certain: bool
    steps: int = 0


def solve(
    problem: AllocationProblem, solver: Solver = Solver.LINEAR_SCAN, limit: int = SHORT_SEARCH
) -> Solution:
    """Addresses at which no two intervals that interfere share a byte.

    Linear scan takes the intervals as they begin to live, and bytes that none had before first.
    Best of several orders takes, of linear scans, the first whose sharing makes the fewest cycles
    of waiting. Exact finds a placement if there is one, in at most about `limit` steps for each
    part of the interference graph; it does not look at what sharing costs.
    """
    if problem.bound > problem.room:
        return Solution(None, True)
    match solver:
        case Solver.LINEAR_SCAN:
            return _solution(problem, linear_scan(problem))
        case Solver.BEST_OF_ORDERS:
            return _solution(problem, _best_of_orders(problem))
        case Solver.EXACT:
            return _exact(problem, limit)


def solve_by_any(problem: AllocationProblem, limit: int = SHORT_SEARCH) -> Solution:
    """What the cheapest solver finds that finds something."""
    for solver in Solver:
        found = solve(problem, solver, limit)
        if found.addresses is not None or found.certain:
            break
    return found


def _solution(problem: AllocationProblem, found: Mapping[int, int] | None) -> Solution:
    if found is None:
        return Solution(None, False)
    return Solution(problem.addresses(found), True)


def _best_of_orders(problem: AllocationProblem) -> Addresses | None:
    best, least = None, math.inf
    for found in scans(problem):
        cost = problem.cost(problem.addresses(found))
        if cost < least:
            best, least = found, cost
        if not least:
            break
    return best


def _exact(problem: AllocationProblem, limit: int) -> Solution:
    """Each part of the interference graph for itself: quick ways first, which mostly suffice."""
    import networkx as nx

    found: Addresses = {}
    steps = 0
    for part in nx.connected_components(problem.interference):
        among = sorted(part)
        scans = (linear_scan(problem, o, unused_first=False, among=among) for o in ORDERS)
        quick = next((s for s in scans if s is not None), None)
        if quick is not None:
            found.update(quick)
            continue
        outcome = exact_search(problem, among, limit)
        steps += outcome.steps
        if outcome.addresses is None:
            return Solution(None, outcome.certain, steps)
        found.update(zip(among, outcome.addresses, strict=True))
    return Solution(problem.addresses(found), True, steps)


__all__ = ["SHORT_SEARCH", "Solution", "Solver", "solve", "solve_by_any"]
