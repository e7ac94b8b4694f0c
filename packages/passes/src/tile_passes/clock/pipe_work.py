"""Add up the cycles that statements keep each pipe of both kinds of core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tile_ir import Body, Core, For, Op, Pipe, Target, bodies, core_of, pipe_of
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS


def pipe_work(body: Body, target: Target, times: float = 1.0) -> Mapping[tuple[Core, Pipe], float]:
    """Cycles of each pipe, with all cores at work and tensors in L2. Instructions of the vector
    pipe mostly wait for the result of the one before."""
    total: defaultdict[tuple[Core, Pipe], float] = defaultdict(float)
    for stmt in body:
        match stmt:
            case Op():
                one, pipe = cost(stmt, target, Assumed(cores=target.cube_cores)), pipe_of(stmt)
                cycles = one.done if pipe is Pipe.V else one.busy
                total[core_of(stmt), pipe] += times * cycles
            case For():
                trips = constant_trips(stmt)
                often = ASSUMED_ITERATIONS if trips is None else trips
                for place, cycles in pipe_work(stmt.body, target, times * often).items():
                    total[place] += cycles
            case _:
                for inner in bodies(stmt):
                    for place, cycles in pipe_work(inner, target, times).items():
                        total[place] += cycles
    return total
