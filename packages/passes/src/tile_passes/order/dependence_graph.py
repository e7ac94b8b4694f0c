"""What must be ordered, as a graph: instances that conflict, why, and from which round of which
loop. Which of it is left when the rest follows is found by `reduce`.

Which instances conflict is kept as bit sets (`conflicts`): the full graph has up to the square of
their number of edges, and only `explain` and pictures look at all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from tile_ir import Pipe
from tile_ir.analysis import Touch
from tile_passes.order.conflicts import meet
from tile_passes.order.tree import (
    Block,
    Instance,
    Repeat,
    Tree,
    Work,
    counted_loops,
    nearest_common_ancestor,
)

if TYPE_CHECKING:
    import networkx as nx

    # Nodes are statements; edges have the attribute `dependence`.
    DependenceGraph: TypeAlias = nx.MultiDiGraph[Work]


class Kind(Enum):
    """What goes wrong without the order. A signal tells other cores that work is complete."""

    RAW = "RAW"
    WAW = "WAW"
    WAR = "WAR"
    SIGNAL = "signal"


@dataclass(frozen=True, slots=True)
class Dependence:
    """`later` must wait for `earlier`: of the same round, or of an earlier one of the loop
    `carried`. `before` and `after` are what the two touch; None for a signal."""

    earlier: Work
    later: Work
    kind: Kind
    carried: Repeat | None
    before: Touch | None
    after: Touch | None


class Form(Enum):
    """How two instances stand to each other: in one round, in two rounds of a loop, or with a
    branch that hardly ever runs around the later or the earlier one only."""

    WITHIN = "within"
    CARRIED = "carried"
    BEFORE_UNLIKELY = "before unlikely"
    BEHIND_UNLIKELY = "behind unlikely"


@dataclass(frozen=True, slots=True)
class Edge:
    """What a pipe has to be ordered after: work of the pipe `source`, those of the bits `needs`,
    the last of which is `earlier`, before `later` begins.

    In `block`, the nearest common ancestor, the one stands at `first` and the other at `then`;
    `distance` rounds lie between them. For unlikely branches `block` is the branch, and `then`
    where in it the order is due.
    """

    form: Form
    source: Pipe
    earlier: Work
    later: Instance
    block: Block
    first: int
    then: int
    distance: int
    needs: int

    @property
    def target(self) -> Pipe:
        return self.later.item.pipe


def dependence_graph(tree: Tree, conflicts: Sequence[int]) -> DependenceGraph:
    """Every dependence of the section, before its reduction. A node for each statement that
    touches memory, in program order."""
    import networkx as nx  # whoever asks for no explanation does not pay for it

    graph: DependenceGraph = nx.MultiDiGraph()
    graph.add_nodes_from(item for item in tree.root.walk() if isinstance(item, Work))
    for later in tree.instances:
        for found in dependences_of(tree, later, conflicts[later.bit]):
            graph.add_edge(found.earlier, found.later, found, dependence=found)
    return graph


def dependences_of(tree: Tree, later: Instance, needs: int) -> Iterator[Dependence]:
    """Why one instance comes after those of the bits `needs`, the first of them first."""
    for _, earlier, run in reversed([*tree.facts_of(needs)]):
        yield from dependences_between(tree, earlier, later, run)


def dependences_between(
    tree: Tree, earlier: Instance, later: Instance, run: Repeat | None = None
) -> Iterator[Dependence]:
    """Why one instance comes after another; nothing if the one never runs before the other. `run`
    is a loop around both, where it does so in an earlier run of that loop only."""
    happens, loop = _carried_by(earlier, later)
    if run is not None:
        happens, loop = run.block.loop is not None, run.block.loop
    if not happens:
        return
    a, b = earlier.item, later.item
    if not later.touches:
        yield Dependence(a, b, Kind.SIGNAL, loop, None, None)
    for before in earlier.touches:
        for after in later.touches:
            if meet(tree, (earlier, before), (later, after)):
                yield Dependence(a, b, _kind(before, after), loop, before, after)


def _kind(before: Touch, after: Touch) -> Kind:
    if not before.writes:
        return Kind.WAR
    return Kind.WAW if after.writes else Kind.RAW


def _carried_by(earlier: Instance, later: Instance) -> tuple[bool, Repeat | None]:
    """Whether the one may run before the other, and the loop from whose earlier round it does so;
    no loop: from earlier in the same round."""
    block, i, j = nearest_common_ancestor(earlier.item, later.item)
    for loop, one, two in zip(counted_loops(block), earlier.residues, later.residues, strict=False):
        if one != two:
            return True, loop
    return (True, None) if i < j else (block.loop is not None, block.loop)
