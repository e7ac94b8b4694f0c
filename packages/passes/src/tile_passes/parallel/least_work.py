"""Choose among several ways to do a statement: the one whose operations take the fewest cycles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_ir import For, Stmt, Target, bodies
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.temporaries import Temporaries

# The steps of a statement. Raises Unsuitable.
Way = Callable[[], list[Stmt]]


def least_work(ways: Sequence[Way], temporaries: Temporaries) -> list[Stmt]:
    """The steps of the way with the least work, of an earlier one where two have the same. Raises
    Unsuitable, for the reason of the first one, where none suits."""
    found, problem = least(ways, temporaries)
    if found is None:
        assert problem is not None, "there are ways"
        raise problem
    return found[1]()


def least(
    ways: Sequence[Way], temporaries: Temporaries
) -> tuple[tuple[float, Way] | None, Unsuitable | None]:
    """The least cycles and their way, and why the first way that does not suit does not."""
    made = len(temporaries.allocs)
    problems: list[Unsuitable] = []
    found: list[tuple[float, Way]] = []
    for way in ways:
        try:
            found.append((cycles(way(), temporaries.builder.target), way))
        except Unsuitable as problem:
            problems.append(problem)
        temporaries.forget_since(made)
    best = min(found, key=lambda each: each[0], default=None)
    return best, problems[0] if problems else None


def cycles(body: Sequence[Stmt], target: Target) -> float:
    """The cycles of statements that run one after another. Instructions mostly wait for the result
    of the one before."""
    total = 0.0
    for stmt in body:
        if isinstance(stmt, For):
            trips = constant_trips(stmt)
            total += (ASSUMED_ITERATIONS if trips is None else trips) * cycles(stmt.body, target)
            continue
        total += cost(stmt, target, Assumed(cores=target.cube_cores)).done
        total += max((cycles(inner, target) for inner in bodies(stmt)), default=0.0)
    return total
