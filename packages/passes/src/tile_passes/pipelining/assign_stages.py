"""Assign the units of a loop over both kinds of core to stages.

A value that goes to the other kind of core and comes back arrives after the latency of that path.
Where it arrives, a new stage begins, as many initiation intervals behind as the path takes:
meanwhile this core works on the next iterations. Units in a cycle of dependences share a stage,
since the new loop executes stage after stage.
"""

from __future__ import annotations

import math
from collections.abc import Set

from tile_ir import Buffer, Memory, Target
from tile_ir.costs.timing import DEFAULT_TIMING
from tile_passes.clock.occupancy import times_of_statement
from tile_passes.graphs import extend_paths, nx
from tile_passes.pipelining.dependence_graph import Iteration, Unit
from tile_passes.pipelining.modulo_schedule import Arrangement, initiation_interval
from tile_passes.pipelining.schedule import OneStage

Pair = tuple[Unit, Unit]


def assign_stages(
    iteration: Iteration, workspaces: Set[Buffer], scratch: Set[Buffer], most: int, target: Target
) -> Arrangement | OneStage:
    """Find the fewest stages, by longest paths over what must stay together, and put each unit in
    the stage of those that depend on it, so that less is in flight. The last stage is at most
    `most` iterations behind. One stage where a value comes back within what must stay together."""
    graph = iteration.graph
    behind = _iterations_behind(iteration, workspaces, target)
    together = nx.condensation(nx.DiGraph(graph))
    member = together.graph["mapping"]
    for a, b in behind:
        if member[a] == member[b]:
            names = {
                data["buffer"].name
                for x, _, data in graph.edges(data=True)
                if member[x] == member[a] and data["distance"]
                if data["buffer"] is not None and data["buffer"] not in scratch
            }
            kept = " and ".join(f"`{name}`" for name in sorted(names))
            reason = f"iterations hand on {kept} through both kinds of core"
            return OneStage(reason, b.stmts[-1].loc)
    edges = dict.fromkeys(together.edges, 0)
    for (a, b), count in behind.items():
        pair = member[a], member[b]
        edges[pair] = max(count, edges.get(pair, 0))
    longest = dict.fromkeys(together, 0)
    extend_paths([(one, then, count) for (one, then), count in edges.items()], longest)
    stage = {one: min(most, count) for one, count in longest.items()}
    for one in reversed(list(nx.topological_sort(together))):
        latest = (stage[then] - count for (a, then), count in edges.items() if a == one)
        stage[one] = max(stage[one], min(latest, default=stage[one]))
    of_unit = {unit: stage[member[unit]] for unit in iteration.units}
    return Arrangement(tuple(sorted(iteration.units, key=of_unit.__getitem__)), of_unit)


def _iterations_behind(
    iteration: Iteration, workspaces: Set[Buffer], target: Target
) -> dict[Pair, int]:
    """For each unit and each of those on its kind of core to which what it has handed over comes
    back: how many iterations these start behind it, one at least."""
    graph, units = iteration.graph, iteration.units
    times = {u: times_of_statement(u.stmts[0], u.core, target) for u in units}
    interval = initiation_interval(graph, times)
    own = workspaces | _own_parts(iteration)
    handovers = {
        (a, b)
        for a, b, buffer in graph.edges(data="buffer")
        if a.core is not b.core and buffer in own
    }
    behind: dict[Pair, int] = {}
    for at, source in enumerate(units):
        starts: dict[Unit, float] = {}
        for unit in units[at + 1 :]:
            away = unit.core is not source.core
            arrives = [
                starts[x] + times[x].latency + DEFAULT_TIMING.cross_flag_latency * (not away)
                for x in graph.predecessors(unit)
                if x in starts and (away or (x, unit) in handovers)
            ]
            if away and (source, unit) in handovers:
                arrives.append(DEFAULT_TIMING.cross_flag_latency)
            if arrives and away:
                starts[unit] = max(arrives)
            elif arrives:
                behind[source, unit] = max(1, math.ceil(max(arrives) / interval))
    return behind


def _own_parts(iteration: Iteration) -> Set[Buffer]:
    """Tensors of which each iteration writes and reads a part of its own: they hand values over as
    workspaces do, and need no versions."""
    edges = [(d["buffer"], d["distance"]) for *_, d in iteration.graph.edges(data=True)]
    tensors = {b for b, _ in edges if b is not None and b.memory is Memory.GM}
    return tensors - {b for b, distance in edges if distance}
