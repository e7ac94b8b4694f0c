"""Build the dependences as a graph: instances that conflict, why, and from which iteration of which
loop. `eliminate_redundant` finds the edges that do not follow from others.

Which instances conflict is kept as bit sets (`conflicts`): the full graph has up to the square of
their number of edges, and only `explain` and pictures look at all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache, partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from tile_ir import Pipe
from tile_ir.analysis import Touch
from tile_ir.quick_dataclasses import dataclass
from tile_passes.graphs import nx
from tile_passes.order.conflicts import meet
from tile_passes.order.tree import Block, Instance, LeafAccess, Repeat, Tree, Work

# Nodes are statements; edges have the attribute `dependence`.
DependenceGraph: TypeAlias = "nx.MultiDiGraph[Work]"


class Kind(Enum):
    """The error without the order. SIGNAL: a signal to other cores means that work is complete."""

    RAW = "RAW"
    WAW = "WAW"
    WAR = "WAR"
    SIGNAL = "signal"


# What is ordered, and what it touches: statements of pipes, or leaves of cores.
N = TypeVar("N")
A = TypeVar("A", covariant=True)
B = TypeVar("B", Touch, LeafAccess)


@dataclass(frozen=True, slots=True)
class Dependence(Generic[N, A]):
    """`later` must wait for `earlier`: of the same iteration, or of one of the `loop` at least
    `distance` before it. `before` and `after` are what the two touch; None for a signal."""

    earlier: N
    later: N
    kind: Kind
    loop: Repeat | None
    before: A
    after: A
    distance: int

    @property
    def carried(self) -> Repeat | None:
        """The loop, if one has to begin anew in between."""
        return self.loop if self.distance else None


def dependence(
    earlier: tuple[N, B], later: tuple[N, B], loop: Repeat | None, distance: int = 0
) -> Dependence[N, B]:
    """The dependence of two accesses, one of which writes."""
    (one, before), (two, after) = earlier, later
    kind = Kind.WAR if not before.writes else Kind.WAW if after.writes else Kind.RAW
    return Dependence(one, two, kind, loop, before, after, distance)


class Edge(NamedTuple):
    """How an instance stands to the last statement it has to come after, of those of the bits
    `needs`, which are of one pipe. In `block`, the nearest common dominator, the one stands at
    `first` and the other at `then`; `distance` iterations of the loop there lie between them. For
    unlikely branches `block` is the branch, and both are where in it the order is due: before what
    is in it, or at its end."""

    earlier: Work
    later: Instance
    block: Block
    first: int
    then: int
    distance: int = 0
    needs: int = 0

    @property
    def source(self) -> Pipe:
        return self.earlier.pipe

    @property
    def target(self) -> Pipe:
        return self.later.item.pipe

    @property
    def unlikely(self) -> bool:
        """Whether `block` is such a branch."""
        return self.distance == 0 and self.first == self.then

    @property
    def before_branch(self) -> bool:
        """Whether the order is due in such a branch before what is in it."""
        return self.unlikely and self.then < len(self.block.items)

    @property
    def inner(self) -> tuple[int, int]:
        """Orders edges: what stands deeper in loops and branches, then what stands later."""
        return self.block.depth, self.first

    @property
    def within(self) -> bool:
        """Whether the earlier one comes first in the same iteration of all loops around both."""
        return self.distance == 0 and self.first < self.then


PipeDependence: TypeAlias = Dependence[Work, "Touch | None"]


def dependence_graph(tree: Tree, conflicts: Sequence[int]) -> DependenceGraph:
    """Every dependence of the section, before its reduction. A node for each statement that
    touches memory, in program order."""
    graph: DependenceGraph = nx.MultiDiGraph()
    graph.add_nodes_from(item for item in tree.root.walk() if isinstance(item, Work))
    for later in tree.instances:
        for found in dependences_of(tree, later, conflicts[later.bit]):
            graph.add_edge(found.earlier, found.later, found, dependence=found)
    return graph


def dependences_of(tree: Tree, later: Instance, needs: int) -> Iterator[PipeDependence]:
    """Why one instance comes after those of the bits `needs`, the first of them first; nothing for
    one that never runs before it."""
    for _, earlier, run in reversed([*tree.facts_of(needs)]):
        relation = _relation(tree, earlier, run, later)
        loop = None if relation.within else relation.block.loop
        if loop is None and not relation.within:
            continue
        a, b, distance = earlier.item, later.item, int(not relation.within)
        if not later.touches:
            yield Dependence(a, b, Kind.SIGNAL, loop, None, None, distance)
        for before in earlier.touches:
            for after in later.touches:
                if meet(tree, (earlier, before), (later, after)):
                    yield dependence((a, before), (b, after), loop, distance)


class Relations:
    """The edges of one section, each computed once for all plans. Needs are bits of the instances
    that an instance must come after."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._relation = cache(partial(_relation, tree))
        self.nearest = cache(self._nearest)
        self.within_iterations = cache(self._within_iterations)

    def _within_iterations(self, need: int, later: Instance) -> int:
        """The needs before the instance in the same iteration of all loops around both."""
        facts = self._tree.facts_of(need)
        return sum(self._relation(a, run, later).within << bit for bit, a, run in facts)

    def _nearest(self, need: int, later: Instance) -> Edge:
        """The innermost relation of an instance of the need with this one; the distance is none if
        that is in one iteration. Needs besides those of unlikely branches come first, as they may
        cover these; an edge at such a branch costs nothing where it is not taken."""
        if (need | 1 << later.bit) & self._tree.seldom:
            found = self._unlikely(need, later)
            if isinstance(found, Edge):
                return found
            need = found
        within: Edge | None = None
        carried: dict[tuple[bool, Block], Edge] = {}
        for _, earlier, run in self._tree.facts_of(need):
            found = self._relation(earlier, run, later)
            if found.within:
                if within is None or found.inner > within.inner:
                    within = found
                continue
            # The last place and the smallest distance cover the others of the same block. In a
            # branch that other iterations may not take, so do only flags of the very same slots.
            key = (found.first < found.then, found.block)
            loop = found.block.loop
            distance = found.distance or (loop.modulus if loop is not None else 1)
            old = carried.get(key)
            if old is not None:
                every = loop is None or found.block is loop.body
                distance = (min if every else math.gcd)(distance, old.distance)
                found = old if old.inner >= found.inner else found
            carried[key] = found._replace(distance=distance)
        innermost = within or carried[max(carried, key=lambda key: (key[1].depth, not key[0]))]
        return innermost._replace(needs=need)

    def _unlikely(self, need: int, later: Instance) -> Edge | int:
        """The edge at an unlikely branch around one of the two, or what is needed besides."""
        likely = 0
        behind: Edge | None = None
        for bit, instance, run in self._tree.facts_of(need):
            earlier = run or instance.item
            if (block := later.item.unlikely_beside(earlier)) is not None:
                at = block.place(later.item)
                return Edge(instance.item, later, block, at, at, needs=need)
            if (block := earlier.unlikely_beside(later.item)) is not None:
                end = len(block.items)
                behind = behind or Edge(instance.item, later, block, end, end, needs=need)
            else:
                likely |= 1 << bit
        return likely if likely or behind is None else behind


def _relation(tree: Tree, earlier: Instance, run: Repeat | None, later: Instance) -> Edge:
    """Relate two instances: in the outermost loop in whose residue they differ, or else in the
    innermost block around both. The earlier one's work before a run of a loop around both belongs
    to an earlier iteration around that."""
    if run is not None:
        return Edge(earlier.item, later, run.block, run.position, run.position)
    block, i, j = tree.nearest_common_dominator(earlier.item, later.item)
    for loop, one, two in zip(block.turning, earlier.residues, later.residues, strict=False):
        apart = (two - one) % loop.modulus
        if apart:
            if loop is not block.loop:
                block = loop.body
                i, j = block.place(earlier.item), block.place(later.item)
            return Edge(earlier.item, later, block, i, j, apart)
    return Edge(earlier.item, later, block, i, j)
