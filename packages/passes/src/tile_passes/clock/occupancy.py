"""Compute for which cycles statements occupy the pipes of the cores, before they are scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tile_ir import Core, For, If, Op, Pipe, Stmt, Target, bodies, pipe_of
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, Cost, cost
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.iteration_work import Instruction
from tile_passes.clock.loop_timetable import spans
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS

Resource = tuple[Core | None, Pipe]


class Occupancy(NamedTuple):
    """Cycles for which a pipe is occupied, from so many after the start of the statements on."""

    resource: Resource
    after: float
    cycles: float


@dataclass(frozen=True, slots=True)
class Times:
    """The pipes that statements occupy, and the cycles from their start to their results."""

    uses: tuple[Occupancy, ...]
    latency: float


def times_of_work(works: Sequence[Instruction]) -> Times:
    """The times of instructions of one core that run by themselves."""
    found = spans(works)
    first = min((start for start, _ in found), default=0.0)
    uses = tuple(
        Occupancy((None, work.pipe), start - first, work.cost.busy)
        for work, (start, _) in zip(works, found, strict=True)
    )
    return Times(uses, max((end for _, end in found), default=0.0) - first)


def times_of_statement(stmt: Stmt, core: Core | None, target: Target) -> Times:
    """The times of a statement whose operations run one after another. Those under a condition
    take time, but occupy nothing for certain. Instructions of the vector pipe mostly wait for the
    result of the one before, and occupy it as long."""
    uses: list[Occupancy] = []
    latency = 0.0
    for pipe, one, certain in costs_of(stmt, target):
        if certain:
            uses.append(Occupancy((core, pipe), latency, one.done if pipe is Pipe.V else one.busy))
        latency += one.done
    return Times(tuple(uses), latency)


def costs_of(
    stmt: Stmt, target: Target, times: float = 1, certain: bool = True
) -> Iterator[tuple[Pipe, Cost, bool]]:
    """The costs of a statement's operations with all cores at work, and whether they are executed
    in every iteration, under no condition."""
    match stmt:
        case If():
            certain = False
        case Op():
            one = cost(stmt, target, Assumed(cores=target.cube_cores))
            yield pipe_of(stmt), Cost(one.busy * times, one.done * times), certain
        case For():
            trips = constant_trips(stmt)
            times *= ASSUMED_ITERATIONS if trips is None else trips
    for body in bodies(stmt):
        for inner in body:
            yield from costs_of(inner, target, times, certain)
