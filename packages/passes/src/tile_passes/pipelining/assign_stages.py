"""In which stage of a software pipeline over both kinds of core each statement of a loop stands.

A dependence graph of one round: what must come after what, and where work comes back to a kind of
core from the other. There a new stage begins, as many rounds behind as the way over the other core
takes: meanwhile this one goes on with next rounds. Says nothing about how the loop is written then
(`pipeline_across_cores`), nor about the order of the cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations

import networkx as nx

from tile_ir import (
    Access,
    Alloc,
    Buffer,
    Effect,
    For,
    Func,
    Let,
    Loc,
    Memory,
    Op,
    Store,
    Target,
    Var,
    accesses,
    breaks,
    loads,
    reads_memory,
    variables_in,
    variables_of,
    walk_ops,
)
from tile_ir import walk as walk_statements
from tile_passes.analysis.liveness import liveness
from tile_passes.pipelining.rounds_behind import rounds_behind
from tile_passes.pipelining.steps import Step, steps_of
from tile_passes.pipelining.workspaces import workspaces


@dataclass(frozen=True, slots=True)
class Stages:
    """The statements of a loop in order, all but definitions with their stages, numbered by the
    rounds they are behind, and how many versions buffers need, as each round in flight has bytes of
    its own. `declared`: the tensors of these that are the author's."""

    loop: For
    steps: tuple[Step, ...]
    stage: Mapping[Step, int]
    versions: Mapping[Buffer, int]
    declared: frozenset[Buffer]

    @property
    def last(self) -> int:
        return max(self.stage.values(), default=0)


@dataclass(frozen=True, slots=True)
class OneStage:
    """Why the statements of a loop stay in one stage, and where that shows."""

    reason: str
    loc: Loc


def assign_stages(func: Func, loop: For, target: Target, most: int) -> Stages | OneStage:
    """The stages of a pipelined loop in which both kinds of core hand values to each other.

    As many as the ways back and their modelled times need, the last at most `most` rounds behind.
    """
    steps: list[Step] = []
    for stmt in loop.body:
        found = steps_of(stmt)
        if found is None:
            return OneStage("a statement has work for both kinds of core", stmt.loc)
        steps += found
    for leaving in breaks(loop.body):
        return OneStage("a break leaves the loop", leaving.loc)
    for op in walk_ops(loop.body):
        if op.opdef.effect is not Effect.DATA:
            return OneStage(f"{op.opdef.name} stays where it is written", op.loc)
    work = _work(steps)
    ours = workspaces(func, tuple(s.stmt for s in work))
    if not ours:
        return OneStage("no copy of it goes from one kind of core to the other", loop.loc)
    roots = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs}
    scratch = {a.buffer for a in func.launch.allocs if a.scratch}
    touched = {s: {roots.get(b, b): w for b, w in _touched(s, scratch).items()} for s in work}
    fresh = dict.fromkeys([*ours, *_fresh(func, loop)])
    graph = _dependences(work, touched, fresh.keys(), ours.keys(), scratch)
    stage = _stages(graph, rounds_behind(graph, work, target), most)
    if isinstance(stage, OneStage):
        return stage
    versions = _versions(touched, stage, fresh, ours.keys())
    declared = frozenset(b for b, by_author in ours.items() if by_author)
    return Stages(loop, tuple(steps), stage, versions, declared)


def _work(steps: Sequence[Step]) -> list[Step]:
    """Without definitions that mean the same wherever they stand."""
    work: list[Step] = []
    here: set[Var] = set()
    for step in steps:
        match step.stmt:
            case Let(var=var, value=value) as stmt:
                if reads_memory(value) or variables_of(stmt) & here:
                    here.add(var)
                    work.append(step)
            case _:
                work.append(step)
    return work


def _touched(step: Step, scratch: Set[Buffer] = frozenset()) -> dict[Buffer, bool]:
    """The buffers a statement touches, and whether it writes them; not the compiler's scratch of an
    operation, which holds nothing before and behind it."""
    found: dict[Buffer, bool] = {}
    for stmt in walk_statements((step.stmt,)):
        match stmt:
            case Op():
                for region, access in accesses(stmt):
                    if region is not stmt.scratch or region.buffer not in scratch:
                        writes = access is not Access.READ
                        found[region.buffer] = writes or found.get(region.buffer, False)
            case Store(buffer=buffer):
                found[buffer] = True
        for load in loads(stmt):
            found.setdefault(load.buffer, False)
    return found


def _fresh(func: Func, loop: For) -> Iterator[Buffer]:
    """Buffers that no round leaves to the next one, nor to what comes after the loop."""
    live = liveness(func.launch.allocs, func.launch.body)
    needed = next(p.needed for p in live.points if p.stmt is loop)
    shared = {a.alias_of for a in func.launch.allocs}
    for a in func.launch.allocs:
        if _is_own(a) and a.buffer not in shared and not needed >> live.roots[a.buffer] & 1:
            yield a.buffer


def _is_own(alloc: Alloc) -> bool:
    return (
        alloc.address is None
        and alloc.alias_of is None
        and not alloc.scratch
        and alloc.buffer.memory is not Memory.VAR
    )


def _dependences(
    work: Sequence[Step],
    touched: Mapping[Step, Mapping[Buffer, bool]],
    fresh: Set[Buffer],
    ours: Set[Buffer],
    scratch: Set[Buffer],
) -> nx.DiGraph[Step]:
    """An edge from each statement to those that must not come before it. What hands something from
    round to round goes on in one stage: it has edges both ways."""
    graph: nx.DiGraph[Step] = nx.DiGraph()
    graph.add_nodes_from(work)
    used = {step: variables_in((step.stmt,)) for step in work}
    for a, b in combinations(work, 2):
        both = touched[a].keys() & touched[b].keys()
        shared = [x for x in both if touched[a][x] or touched[b][x]]
        defined = isinstance(a.stmt, Let) and a.stmt.var in used[b]
        if not shared and not defined:
            continue
        over = a.core is not b.core and any(x in ours for x in shared)
        graph.add_edge(a, b, handover=over)
        kept = [x for x in shared if x not in fresh]
        if defined or kept:
            names = frozenset(x.name for x in kept if x not in scratch)
            graph.add_edge(b, a, handover=False, kept=names)
    return graph


def _stages(
    graph: nx.DiGraph[Step], back: Mapping[tuple[Step, Step], int], most: int
) -> dict[Step, int] | OneStage:
    """The fewest stages, by longest paths over what must stay together, and each statement in the
    stage of those that take from it, so that less is in flight. One where work comes back within
    what must stay together."""
    together = nx.condensation(graph)
    member = together.graph["mapping"]
    for a, b in back:
        if member[a] == member[b]:
            names = {
                name
                for x, _, kept in graph.edges(data="kept", default=())
                if member[x] == member[a]
                for name in kept
            }
            kept = " and ".join(f"`{name}`" for name in sorted(names))
            return OneStage(f"rounds hand on {kept} through both kinds of core", b.stmt.loc)
    edges = dict.fromkeys(together.edges, 0)
    for (a, b), rounds in back.items():
        pair = member[a], member[b]
        edges[pair] = max(rounds, edges.get(pair, 0))
    ordered: nx.DiGraph[int] = nx.DiGraph([*edges])
    ordered.add_nodes_from(together)
    stage = dict.fromkeys(ordered, 0)
    for one in nx.topological_sort(ordered):
        for then in ordered.successors(one):
            stage[then] = max(stage[then], min(most, stage[one] + edges[one, then]))
    for one in reversed(list(nx.topological_sort(ordered))):
        latest = (stage[then] - edges[one, then] for then in ordered.successors(one))
        stage[one] = max(stage[one], min(latest, default=stage[one]))
    return {step: stage[member[step]] for step in graph}


def _versions(
    touched: Mapping[Step, Mapping[Buffer, bool]],
    stage: Mapping[Step, int],
    fresh: Iterable[Buffer],
    ours: Set[Buffer],
) -> dict[Buffer, int]:
    """Buffers that are touched in several stages, and all workspaces, with one more: a core need
    not wait until the other one has taken what it handed over last."""
    versions: dict[Buffer, int] = {}
    for buffer in fresh:
        at = [stage[s] for s in stage if buffer in touched[s]]
        if at and (max(at) > min(at) or buffer in ours):
            versions[buffer] = max(at) - min(at) + (2 if buffer in ours else 1)
    return versions


__all__ = ["OneStage", "Stages", "Step", "assign_stages"]
