"""Compute the transitive reduction of the dependences: the waits from which the rest follows.

Needs: control flow, conflicts, and a plan of the existing order, which it does not change.
Gives: a graph whose edges are still to be placed.

An edge follows from others where its source is already complete for the pipe. So the reduction
is one run of `completion` in which an edge counts as satisfied, with all facts of its source, from
its sink on. A test compares it with `networkx.transitive_reduction` on straight lines, which
takes time and memory by the cube of the instances, and supports neither branches nor loops. After
the placement, `completion` confirms that the remaining edges suffice on all paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import count, permutations
from operator import itemgetter
from typing import TypeAlias

from tile_passes.graphs import nx
from tile_passes.order.channels import Flag, Plan, SyncOp
from tile_passes.order.completion import Completion
from tile_passes.order.dependence_graph import Edge
from tile_passes.order.flow_graph import FlowGraph, Gap
from tile_passes.order.tree import Instance, Work
from tile_passes.order.worklist import State

# Nodes are statements; the keys of edges number them as they were met, `edge` is their data.
ReducedGraph: TypeAlias = "nx.MultiDiGraph[Work]"


class Stage(IntEnum):
    """The edges of one reduction; the rest counts as ordered. Order across iterations may follow
    from the order within them, and the needs of unlikely branches from the waits of likely work."""

    WITHIN_ITERATIONS = 0
    LIKELY = 1
    ALL = 2


# An edge, what its target knows behind it, and what it needs; no edge if that is for a later stage.
_Found: TypeAlias = tuple[Edge | None, int, int]


def reduce(flow: FlowGraph, plan: Plan, stage: Stage = Stage.ALL) -> Reduction:
    """The dependences that neither the plan nor each other imply."""
    reduction = Reduction(flow, plan, stage)
    reduction.solve()
    reduction.report(sorted(reduction.missing))
    return reduction


class Reduction(Completion):
    """The analysis that goes on as if what it misses were there; `graph` has that."""

    watches_gaps = True

    def __init__(self, flow: FlowGraph, plan: Plan, stage: Stage) -> None:
        super().__init__(flow, plan)
        self.stage = stage
        self.graph: ReducedGraph = nx.MultiDiGraph()
        self.numbers = count()
        # The blocks in which something was not ordered.
        self.missing: set[int] = set()
        # What every pipe knew behind each item when it was run last.
        self.history: dict[Gap, int] = {}

    def edges(self) -> list[Edge]:
        """In the order in which they are met along the section."""
        found = sorted(self.graph.edges(keys=True, data="edge"), key=itemgetter(2))
        return [edge for *_, edge in found]

    def passed(self, gap: Gap, state: State) -> None:
        self.history[gap] = state.known

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        self.missing.add(self.at)
        target = self.index[instance.item.pipe]
        while need:
            asked = [(source, need & own) for source, own in enumerate(self.own) if need & own]
            found = [self.edge(source, bits, instance) for source, bits in asked]
            for edge, gives, needs in _irredundant(found) if self.tree.flat else found:
                self.learn(target, gives, state)
                need &= ~gives
                if self.reporting and edge is not None:
                    edge = edge._replace(needs=needs & gives)
                    key = next(self.numbers)
                    self.graph.add_edge(edge.earlier, edge.later.item, key, edge=edge)

    def edge(self, source: int, need: int, later: Instance) -> _Found:
        """The edge from the innermost place where one is needed, whatever else it covers."""
        relations, now = self.flow.relations, need
        if self.stage is Stage.WITHIN_ITERATIONS:
            now = relations.within_iterations(need, later)
        edge = relations.nearest(now, later) if now else None
        if edge is None or (self.stage < Stage.ALL and edge.before_branch):
            return None, need, need
        return edge, self.given(source, edge), edge.needs

    def given(self, source: int, edge: Edge) -> int:
        """The target's facts behind an edge from a place: the source's own work or, where
        it signals right behind an item, its facts there, but for the statements in between."""
        own, (_, later, block, i, j, distance, _) = self.own[source], edge
        if distance:
            return own
        if edge.unlikely:
            return own & (~block.bits(j, j + 1) if edge.before_branch else block.below[-1])
        nested = block.bits(j, j + 1) if later.item.block is not block else 0
        if edge.source is edge.target:
            return own & ~nested
        behind = Gap(block, i, True, later.residues[: len(block.turning)])
        known = self.knows(source, self.history[behind])
        return (known | own) & ~block.bits(i + 1, j) & ~nested


def _irredundant(found: list[_Found]) -> list[_Found]:
    """Those that do not follow from another one, in a straight line."""
    if len(found) < 2:
        return found
    graph = nx.DiGraph((n, len(found)) for n in range(len(found)))
    for (n, (_, _, needs)), (m, (_, gives, _)) in permutations(enumerate(found), 2):
        if not needs & ~gives:
            graph.add_edge(n, m)
    left = nx.transitive_reduction(graph).predecessors(len(found))
    return [found[n] for n in sorted(left)]


def eliminate(solved: Completion) -> Completion:
    """Return the plan without ops that the others make superfluous: in loops, the needs of the next
    iteration may imply the op placed first. Ops in the deepest loops are tried first, since they
    run most often, and of these the last placed."""
    if solved.tree.flat:
        return solved  # the reduction of a straight line is minimal
    tried = sorted(reversed(solved.plan.ops), key=lambda op: -sum(1 for _ in op.block.loops()))
    return spared(Completion(solved.flow, solved.plan, solved), tried)


def spared(
    check: Completion, tried: Sequence[SyncOp], allows: Callable[[Completion], bool] | None = None
) -> Completion:
    """Return the plan without the ops that are not needed, tried one after another. `allows`: what
    else a plan without an op must satisfy. Shared flags stay: each raises the others'."""
    tried = [op for op in tried if not (isinstance(op, Flag) and op.shared)]
    if len(tried) > 1 and allows is None and (less := check.suffices_without(tried)) is not None:
        return less
    for op in tried:
        less = check.suffices_without([op])
        if less is not None and (allows is None or allows(less)):
            check = less
    return check
