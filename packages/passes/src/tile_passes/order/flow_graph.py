"""Build the flow graph of a section or of a kernel: basic blocks of steps as a networkx digraph.

A basic block stands for one combination of residues of the loops around it (`unroll`), so that the
steps of one block have constant slots and event ids. Blocks are numbered in the topological order
of the strongly connected components, so that `worklist` leaves a loop when it is solved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import or_
from typing import NamedTuple, TypeAlias

from tile_ir import Break, Effect, Op, Pipe, pipe_of
from tile_passes.graphs import nx
from tile_passes.order.channels import AROUND, Barrier, Flag, Place
from tile_passes.order.core_dependences import CoreDependence, Facts
from tile_passes.order.dependence_graph import Relations
from tile_passes.order.tree import (
    CORES,
    Block,
    Branch,
    Instance,
    Item,
    Leaf,
    Order,
    Repeat,
    Residues,
    Tree,
    Work,
)


class Access(NamedTuple):
    """An instance runs on the place of this number, after all of `must`; `bit` is its fact."""

    instance: Instance | Leaf
    pipe: int
    must: int
    bit: int


class Signal(NamedTuple):
    """A flag of a sync op, or of the author's (no op): a pipe sets it or waits for it. Behind the
    wait the fact of `bits` holds that it is over; none for the author's.

    A counter: a core adds to it, and it carries the facts `bits` of the core's own work; or it
    takes the first signal, which is there for these facts.
    """

    op: Flag | None
    pipe: int
    flag: int
    sets: bool
    bits: int = 0


class Halt(NamedTuple):
    """A barrier of one pipe; -1: of all."""

    op: Barrier | None
    pipe: int


class Enter(NamedTuple):
    """A loop begins, or goes on: by `shift` bits on, facts `moved` say the same of an earlier run
    or iteration, and those `joined` of all earlier ones; those `complete` begin anew."""

    loop: Repeat
    complete: int
    joined: int
    moved: int
    shift: int

    def older(self, bits: int, each: int) -> int:
        """The facts of each lane behind it."""
        joined, moved, shift = self.joined * each, self.moved * each, self.shift
        kept = bits & ~(joined | moved << shift) | bits & joined & bits << shift
        return kept | (bits & moved) << shift | self.complete * each


class Gap(NamedTuple):
    """A place for sync ops behind an item or before it, in one combination of residues; AROUND a
    loop that of the first iteration, or of the one after the last."""

    block: Block
    position: int
    behind: bool
    residues: Residues


Step: TypeAlias = "Access | Signal | Halt | Enter | Gap"


class FlowGraph:
    """A section in which each instance must come after those of `conflicts`, or a kernel in which
    leaves of one core must come after `facts` of others.

    `steps` and `successors` are those of each basic block, under any plan. `index` numbers the
    places, which are pipes or cores; `own` has the instances of each. `width` bits have a meaning.
    """

    def __init__(
        self, tree: Tree, places: Sequence[Place], conflicts: Sequence[int], facts: Facts
    ) -> None:
        self.tree, self.conflicts, self.facts = tree, conflicts, facts
        self.relations = Relations(tree)
        self.index: dict[Place, int] = {place: i for i, place in enumerate(places)}
        self.own = [tree.masks.get(place, 0) for place in places]
        self.width = facts.width or tree.free_bit()
        self.steps: list[list[Step]] = []
        self._graph: nx.DiGraph[int] = nx.DiGraph()
        self._breaks: dict[Repeat, list[int]] = {}
        # The author's flags: pipes and event id.
        self._flags: dict[tuple[int, int, int], int] = {}
        # Nothing needs to know whether work is complete that no instance must come after.
        self._awaited = reduce(or_, conflicts, 0)
        self._awaited |= self._awaited >> len(tree.instances)
        # The instances of each loop that tell its runs apart.
        self._looking_back: dict[Repeat | None, int] = defaultdict(int)
        for _, instance, loop in tree.runs:
            self._looking_back[loop] |= 1 << instance.bit
        self.block(tree.root, self.new(), ())
        components = [sorted(c) for c in nx.strongly_connected_components(self._graph)]
        loops = nx.condensation(self._graph, components)
        first = nx.lexicographical_topological_sort(loops, lambda n: components[n][0])
        order = [block for component in first for block in components[component]]
        number = {block: n for n, block in enumerate(order)}
        self.steps = [self.steps[block] for block in order]
        self.successors = [[number[s] for s in self._graph.successors(b)] for b in order]

    def new(self, *before: int, steps: Iterable[Step] = ()) -> int:
        found = len(self.steps)
        self.steps.append([*steps])
        self._graph.add_node(found)
        self._graph.add_edges_from((each, found) for each in before)
        return found

    def block(self, block: Block, at: int, residues: Residues) -> int | None:
        """Return the basic block behind the items of a block; None if it always breaks."""
        for item in block.items:
            self.steps[at].append(Gap(block, item.position, False, residues))
            self.steps[at].extend(self.item(item, residues))
            after: int | None = at
            match item:
                case Branch() if len(only := item.sides(residues)) == 1:
                    after = self.block(only[0], at, residues)
                case Branch():
                    sides = [self.block(side, self.new(at), residues) for side in item.blocks]
                    ends = [end for end in sides if end is not None]
                    after = self.new(*ends) if ends else None
                case Repeat(most=most) if most > 0:
                    after = self.loop(item, at, residues)
                case Item(stmt=Break()):
                    assert block.loop is not None, "the verifier knows"
                    self._breaks.setdefault(block.loop, []).append(at)
                    after = None
            if after is None:
                return None
            at = after
            self.steps[at].append(Gap(block, item.position, True, residues))
        self.steps[at].append(Gap(block, len(block.items), False, residues))
        return at

    def loop(self, loop: Repeat, before: int, residues: Residues) -> int:
        """Add a copy of the body for every residue; the copies follow each other in turn."""
        behind = partial(Gap, loop.body, AROUND, True)
        entries: dict[int, int] = {}
        exits: list[int] = []
        for j in loop.entries:
            begin = (*self.enters(loop, True), Gap(loop.body, AROUND, False, (*residues, j)))
            entries[j] = self.new(before, steps=begin)
            if not loop.runs:
                exits.append(self.new(entries[j], steps=[behind((*residues, j))]))
        heads: dict[int, int] = {}
        ends: dict[int, int | None] = {}
        for j in loop.turns:
            heads[j] = self.new(*[entries[j]] if j in entries else [])
            inside = (*residues, j) if loop.modulus > 1 else residues
            ends[j] = self.block(loop.body, heads[j], inside)
        for j, head in heads.items():
            last = ends.get((j - 1) % loop.modulus)
            if last is not None and (loop.wraps or j != loop.entries[0]):
                if steps := [*self.enters(loop, False)]:
                    last = self.new(last, steps=steps)
                self._graph.add_edge(last, head)
        for j, end in sorted(ends.items()):
            if end is not None and j in loop.ends:
                exits.append(self.new(end, steps=[behind((*residues, j + 1))]))
        return self.new(*exits, *self._breaks.pop(loop, []))

    def enters(self, loop: Repeat, begins: bool) -> Iterator[Step]:
        """Yield what the begin of a loop or its next iteration means for facts."""
        if self.facts.width:
            now, before, moved = self.facts.loops[loop]
            whole = now | before | moved << 1
            yield Enter(loop, whole, 0, 0, 1) if begins else Enter(loop, now, before, moved, 1)
        elif begins and (moved := self._looking_back[loop]):
            yield Enter(loop, 0, 0, moved, len(self.tree.instances))

    def item(self, item: Item, residues: Residues) -> Iterator[Step]:
        """Yield what an item does itself."""
        for leaf in item.leaves:
            index, facts = self.index[leaf.core], self.facts
            yield Access(leaf, index, facts.wanted[leaf], facts.runs[leaf])
        if isinstance(item, Order):
            yield from self.existing(item, residues)
        elif isinstance(item, Work) and (instance := item.instances.get(residues)) is not None:
            pipe, must = self.index[item.pipe], self.conflicts[instance.bit]
            if item.in_order or item.pipe is Pipe.S:
                must &= ~self.tree.masks[item.pipe]
            if must or self._awaited >> instance.bit & 1:
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
                event = order.spans[residues]
                if event.low != event.high:
                    return
                source, target = (self.index[pipe] for pipe in order.pair)
                flag = self._flags.setdefault((source, target, int(event.low)), ~len(self._flags))
                sets = effect is Effect.SET_FLAG
                yield Signal(None, source if sets else target, flag, sets)


def flow_graph(tree: Tree, conflicts: Sequence[int]) -> FlowGraph:
    """Build the basic blocks of a section for its pipes, the entry first."""
    return FlowGraph(tree, tree.pipes, conflicts, Facts(()))


def core_flow_graph(tree: Tree, dependences: Sequence[CoreDependence]) -> FlowGraph:
    """Build the basic blocks of a kernel for its cores, the entry first."""
    return FlowGraph(tree, CORES, (), Facts(dependences))
