"""Build the flow graph of a section: basic blocks of steps as a networkx digraph.

A basic block stands for one combination of residues of the loops around it (`unroll`), so that the
steps of one block have constant slots and event ids. Blocks are numbered in the topological order
of the strongly connected components, so that `worklist` leaves a loop when it is solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import networkx as nx

from tile_ir import Effect, Op, Pipe, pipe_of
from tile_passes.order.channels import Barrier, Do, Signal
from tile_passes.order.dependence_graph import Relations
from tile_passes.order.tree import (
    Block,
    Branch,
    EarlierRun,
    Instance,
    Leave,
    Order,
    Repeat,
    Residues,
    Tree,
    Work,
)

if TYPE_CHECKING:
    Graph: TypeAlias = nx.DiGraph[int]


class Access(NamedTuple):
    """An instance runs on the pipe of this number, after all of `must`; `bit` is its fact."""

    instance: Instance
    pipe: int
    must: int
    bit: int


class Set(NamedTuple):
    """A pipe sets a flag of a sync op, or one of the author's."""

    op: Signal | None
    pipe: int
    flag: int


class Wait(NamedTuple):
    """A pipe waits for a flag; `bit` is the fact that the wait is over, 0 for the author's."""

    op: Signal | None
    pipe: int
    flag: int
    bit: int


class Halt(NamedTuple):
    """A barrier of one pipe; -1: of all."""

    op: Barrier | None
    pipe: int


class Enter(NamedTuple):
    """A loop begins: all that these instances did was done in earlier runs of it."""

    runs: tuple[EarlierRun, ...]


class Gap(NamedTuple):
    """A place for sync ops behind an item or before it, in one combination of residues."""

    block: Block
    position: int
    behind: bool
    residues: Residues


class Rounds(NamedTuple):
    """A place for the flags that a loop is primed with or drained of; `residue` is that of the
    first iteration, or of the one after the last."""

    loop: Repeat
    residue: int
    do: Do


class Break(NamedTuple):
    """A loop is left from inside."""

    leave: Leave
    residues: Residues


Step: TypeAlias = "Access | Set | Wait | Halt | Enter | Gap | Rounds | Break"


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """A section in which each instance must come after those of `conflicts`.

    `steps` and `successors` are those of each basic block, under any plan. `index` numbers the
    pipes, `own` has the instances of each.
    """

    tree: Tree
    conflicts: Sequence[int]
    steps: Sequence[Sequence[Step]]
    successors: Sequence[Sequence[int]]
    index: dict[Pipe, int]
    own: Sequence[int]
    relations: Relations


def flow_graph(tree: Tree, conflicts: Sequence[int]) -> FlowGraph:
    """Build the basic blocks of a section, the entry first."""
    builder = _Builder(tree, conflicts, {pipe: i for i, pipe in enumerate(tree.pipes)})
    builder.block(tree.root, builder.new(), ())
    order = numbered(builder.graph)
    number = {block: n for n, block in enumerate(order)}
    steps = [builder.steps[block] for block in order]
    successors = [[number[s] for s in builder.graph.successors(block)] for block in order]
    own = [tree.masks[pipe] for pipe in tree.pipes]
    return FlowGraph(tree, conflicts, steps, successors, builder.index, own, Relations(tree))


def numbered(graph: Graph) -> list[int]:
    """Return the blocks in topological order of their strongly connected components."""
    components = [sorted(c) for c in nx.strongly_connected_components(graph)]
    loops = nx.condensation(graph, components)
    first = nx.lexicographical_topological_sort(loops, lambda n: components[n][0])
    return [block for component in first for block in components[component]]


@dataclass(slots=True)
class _Builder:
    tree: Tree
    conflicts: Sequence[int]
    index: dict[Pipe, int]
    graph: Graph = field(default_factory=nx.DiGraph)
    steps: list[list[Step]] = field(default_factory=list)
    breaks: dict[Repeat, list[int]] = field(default_factory=dict)
    # The author's flags: pipes and event id.
    flags: dict[tuple[int, int, int], int] = field(default_factory=dict)
    awaited: int = 0

    def __post_init__(self) -> None:
        """Nothing needs to know whether work is complete that no instance must come after."""
        self.awaited = reduce(or_, self.conflicts, 0)
        for run in self.tree.runs:
            self.awaited |= (self.awaited >> run.bit & 1) << run.instance.bit

    def new(self, *before: int) -> int:
        found = len(self.steps)
        self.steps.append([])
        self.graph.add_node(found)
        self.graph.add_edges_from((each, found) for each in before)
        return found

    def block(self, block: Block, at: int, residues: Residues) -> int | None:
        """Return the basic block behind the items of a block; None if it always breaks."""
        for item in block.items:
            self.steps[at].append(Gap(block, item.position, False, residues))
            after: int | None = at
            match item:
                case Work():
                    if (instance := item.instances.get(residues)) is not None:
                        self.steps[at].extend(self.access(instance))
                case Order():
                    self.steps[at].extend(self.existing(item, residues))
                case Branch(taken=None):
                    sides = [
                        self.block(side, self.new(at), residues)
                        for side in (item.then, item.orelse)
                    ]
                    ends = [end for end in sides if end is not None]
                    after = self.new(*ends) if ends else None
                case Branch(taken=taken):
                    after = self.block(item.then if taken else item.orelse, at, residues)
                case Repeat(most=0):
                    pass
                case Repeat():
                    after = self.loop(item, at, residues)
                case Leave():
                    self.steps[at].append(Break(item, residues))
                    self.breaks.setdefault(item.loop, []).append(at)
                    after = None
            if after is None:
                return None
            at = after
            self.steps[at].append(Gap(block, item.position, True, residues))
        self.steps[at].append(Gap(block, len(block.items), False, residues))
        return at

    def loop(self, loop: Repeat, before: int, residues: Residues) -> int:
        """Add a copy of the body for every residue; the copies follow each other in turn."""
        entries: dict[int, int] = {}
        exits: list[int] = []
        runs = tuple(run for run in self.tree.runs if run.loop is loop)
        for j in loop.entries:
            entries[j] = self.new(before)
            if runs:
                self.steps[entries[j]].append(Enter(runs))
            self.steps[entries[j]].append(Rounds(loop, j, Do.SET))
            if not loop.runs:
                exits.append(self.leaving(loop, j, entries[j]))
        heads: dict[int, int] = {}
        ends: dict[int, int | None] = {}
        for j in loop.turns:
            heads[j] = self.new(*[entries[j]] if j in entries else [])
            inside = (*residues, j) if loop.modulus > 1 else residues
            ends[j] = self.block(loop.body, heads[j], inside)
        for j, head in heads.items():
            last = ends.get((j - 1) % loop.modulus)
            if last is not None and (loop.wraps or j != loop.entries[0]):
                self.graph.add_edge(last, head)
        for j, end in sorted(ends.items()):
            if end is not None and j in loop.ends:
                exits.append(self.leaving(loop, j + 1, end))
        return self.new(*exits, *self.breaks.pop(loop, []))

    def leaving(self, loop: Repeat, residue: int, before: int) -> int:
        found = self.new(before)
        self.steps[found].append(Rounds(loop, residue, Do.WAIT))
        return found

    def access(self, instance: Instance) -> Iterator[Access]:
        pipe, must = self.index[instance.item.pipe], self.conflicts[instance.bit]
        if instance.item.in_order or instance.item.pipe is Pipe.S:
            must &= ~self.tree.masks[instance.item.pipe]
        if must or self.awaited >> instance.bit & 1:
            yield Access(instance, pipe, must, 1 << instance.bit)

    def existing(self, order: Order, residues: Residues) -> Iterator[Step]:
        """Yield the step of a flag or barrier of the author's, if its event id is known."""
        op = order.stmt
        assert isinstance(op, Op), "flags and barriers are operations"
        match op.opdef.effect:
            case Effect.BARRIER | Effect.SYNC_ALL:
                pipe = pipe_of(op)
                if pipe is Pipe.ALL or pipe in self.index:
                    yield Halt(None, -1 if pipe is Pipe.ALL else self.index[pipe])
            case Effect.SET_FLAG | Effect.WAIT_FLAG as effect:
                event = order.ids[residues]
                if event is None:
                    return
                source, target = (self.index[Pipe(op.attr(e))] for e in ("src_pipe", "dst_pipe"))
                flag = self.flags.setdefault((source, target, event), ~len(self.flags))
                if effect is Effect.SET_FLAG:
                    yield Set(None, source, flag)
                else:
                    yield Wait(None, target, flag, 0)
