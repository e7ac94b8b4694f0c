"""Distribute loops over both kinds of core in a pipelined loop: one loop for each kind of core."""

from __future__ import annotations

from functools import partial
from itertools import groupby, islice

from tile_ir import (
    Body,
    Buffer,
    Core,
    Effect,
    For,
    Func,
    Let,
    LoopKind,
    Phase,
    Section,
    Stmt,
    Target,
    breaks,
    map_expressions,
    replace_buffers,
    resolved,
    rewrite,
    simplify,
    walk_ops,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import replace
from tile_passes.free_names import FreeNames
from tile_passes.graphs import nx
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.dependence_graph import Iteration, Unit, dependence_graph
from tile_passes.pipelining.plan_versions import with_versions
from tile_passes.pipelining.schedule import Stages
from tile_passes.pipelining.software_pipeline import loops_over_cores, pipeline_cores
from tile_passes.streams.items import Step, steps_of
from tile_passes.streams.workspaces import workspaces

# The tiles that a loop hands from pipe to pipe, when it has become a loop of one core.
OVERLAP = 2
# What a part of a loop is made of: its place among the parts, and its core.
Place = tuple[int, Core]


@ir_pass(needs=Phase.LOWERED)
def distribute_loops(func: Func, target: Target) -> Func:
    """Split loops inside pipelined loops, with work for both kinds of core, into one per core.

    Needs, gives: LOWERED. Idea: with one workspace per iteration, a loop over parts of a tile
    becomes one loop per transfer between the kinds of core: first all its products, then all vector
    work on them. Only then can the loop around it have stages (`pipeline_across_cores`). If that
    loop has none for another reason, the loops stay as they are. Limits: a constant trip count
    without `break`, workspaces of the compiler, and no value that an iteration passes to the next
    through both kinds of core.
    """
    for number in range(len(list(loops_over_cores(func.launch.body)))):
        loop = _numbered(func, number)
        split = _distributed(func, loop)
        if split is not None:
            planned = pipeline_cores(split, _numbered(split, number), target)
            func = split if isinstance(planned, Stages) else func
    return func


def _numbered(func: Func, number: int) -> For:
    return next(islice(loops_over_cores(func.launch.body), number, None))


def _distributed(func: Func, loop: For) -> Func | None:
    """The function with all such loops of a pipelined loop distributed; None if there is none, or
    one that has to stay."""
    names = FreeNames.of(func)
    new: dict[Buffer, Buffer] = {}
    body: list[Stmt] = []
    for stmt in loop.body:
        if steps_of(stmt) is not None:
            body.append(stmt)
            continue
        parts = _parts(func, stmt, names, new) if isinstance(stmt, For) else None
        if parts is None:
            return None
        body += parts
    if not new:
        return None
    written = replace(loop, body=tuple(body))
    launch = func.with_body(rewrite(func.launch.body, lambda s: written if s is loop else s)).launch
    params = tuple(new.get(p, p) if isinstance(p, Buffer) else p for p in func.params)
    return replace(func, launch=launch, params=params)


def _parts(func: Func, loop: For, names: FreeNames, new: dict[Buffer, Buffer]) -> Body | None:
    """The loops that a loop becomes; adds its workspaces to those that have `new` sizes."""
    trips = constant_trips(loop)
    steps: list[Step] = []
    for stmt in loop.body:
        found = steps_of(stmt)
        if found is None:
            return None
        steps += found
    ordered = any(op.opdef.effect is not Effect.DATA for op in walk_ops(loop.body))
    if not trips or ordered or loop.given or any(breaks(loop.body)):
        return None
    ours = [b for b, declared in workspaces(func, tuple(s.stmt for s in steps)).items()
            if not declared]  # fmt: skip
    places = _places(dependence_graph(func, loop, steps, ours))
    if places is None or len(set(places.values())) < 2:
        return None
    own = {b: with_versions(b, trips, 1) for b in ours}
    new.update(own)
    values = {s.var: s.value for s, _ in steps if isinstance(s, Let)}
    kind = LoopKind.PIPELINED if trips > 1 else loop.kind
    stages = max(OVERLAP, loop.stages) if trips > 1 else loop.stages
    parts: list[Stmt] = []
    # Parts with one number are independent of each other: they go in the order of the text.
    first = list(dict.fromkeys(places.values()))
    in_order = sorted(places, key=lambda unit: (places[unit][0], first.index(places[unit])))
    for (_, core), units in groupby(in_order, places.__getitem__):
        var = replace(loop.var, name=names.fresh(loop.var.name)) if parts else loop.var
        turn = simplify(var - loop.start)
        stmts = tuple(s for unit in units for s in unit.stmts)
        renamed = {} if var is loop.var else {loop.var: var}
        spelled = map_expressions(stmts, partial(resolved, values=values | renamed))
        body = replace_buffers(spelled, own, dict.fromkeys(ours, turn))
        section = Section(core, body, body[0].loc)
        parts.append(replace(loop, var=var, kind=kind, stages=stages, body=(section,)))
    return tuple(parts)


def _places(iteration: Iteration) -> dict[Unit, Place] | None:
    """The part of each unit: behind those it depends on, and in a later one where these are of the
    other core. None where a cycle of dependences goes through both cores."""
    graph = nx.DiGraph(iteration.graph)
    together = nx.condensation(graph)
    found: dict[Unit, Place] = {}
    for one in nx.topological_sort(together):
        members: set[Unit] = together.nodes[one]["members"]
        cores = {u.core for u in members}
        (core,) = cores if len(cores) == 1 else (None,)
        if core is None:
            return None
        before = (found[p] for u in members for p in graph.predecessors(u) if p in found)
        at = max((n + (c is not core) for n, c in before), default=0)
        found |= {u: (at, core) for u in members}
    return {u: found[u] for u in iteration.units}
