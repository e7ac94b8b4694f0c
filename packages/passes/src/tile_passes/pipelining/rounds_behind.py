"""How many rounds behind work begins that comes back to a kind of core over the other one.

By the cost query: the way over the other core takes so many cycles, and a round at least as many as
its busiest pipe; with so many rounds in between, a core works on while it would have waited. Says
nothing about what must stay in one stage.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from tile_ir import Core, For, If, Op, Pipe, Stmt, Target, bodies, pipe_of
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, Cost, cost
from tile_ir.costs.timing import DEFAULT_TIMING
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS
from tile_passes.pipelining.steps import Step


def rounds_behind(
    graph: nx.DiGraph[Step], work: Sequence[Step], target: Target
) -> dict[tuple[Step, Step], int]:
    """For each statement and each of those on its kind of core to which what it has handed over
    comes back: the rounds that these are behind it, one at least. Edges of the graph from one kind
    of core to the other say whether they are a `handover`."""
    interval = _interval({step: [*costs_of(step.stmt, target, sure=True)] for step in work})
    lasts = {step: sum(c.done for _, c in costs_of(step.stmt, target)) for step in work}
    behind: dict[tuple[Step, Step], int] = {}
    for at, given in enumerate(work):
        begins: dict[Step, float] = {}
        for step in work[at + 1 :]:
            away = step.core is not given.core
            arrives = [
                begins[x] + lasts[x] + DEFAULT_TIMING.cross_flag_latency * (not away)
                for x in graph.predecessors(step)
                if x in begins and (away or graph.edges[x, step]["handover"])
            ]
            if away and graph.has_edge(given, step) and graph.edges[given, step]["handover"]:
                arrives.append(DEFAULT_TIMING.cross_flag_latency)
            if arrives and away:
                begins[step] = max(arrives)
            elif arrives:
                behind[given, step] = max(1, math.ceil(max(arrives) / interval))
    return behind


def _interval(costs: Mapping[Step, Sequence[tuple[Pipe, Cost]]]) -> float:
    """Cycles from round to round at least: of the pipe that has most to do. Instructions of the
    vector pipe mostly wait for the result of the one before."""
    busy: dict[tuple[Core | None, Pipe], float] = defaultdict(float)
    for step, found in costs.items():
        for pipe, one in found:
            busy[step.core, pipe] += one.done if pipe is Pipe.V else one.busy
    return max(1.0, *busy.values())


def costs_of(
    stmt: Stmt, target: Target, times: float = 1, sure: bool = False
) -> Iterator[tuple[Pipe, Cost]]:
    """What the operations of a statement cost, with all cores at work; `sure`: those of every
    round, under no condition."""
    match stmt:
        case If() if sure:
            return
        case Op():
            one = cost(stmt, target, Assumed(cores=target.cube_cores))
            yield pipe_of(stmt), Cost(one.busy * times, one.done * times)
        case For():
            trips = constant_trips(stmt)
            times *= ASSUMED_ITERATIONS if trips is None else trips
    for body in bodies(stmt):
        for inner in body:
            yield from costs_of(inner, target, times, sure)


__all__ = ["costs_of", "rounds_behind"]
