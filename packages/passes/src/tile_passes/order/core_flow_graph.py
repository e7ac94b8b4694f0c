"""Build the flow graph of a kernel for both kinds of core, with places for signals.

A loop is not unrolled here; a dependence of distance d asks for facts by age instead: one says that
what a statement did in this iteration is complete, the next ones that all it did one iteration ago
or earlier is, two iterations ago, and so on. From one iteration to the next every fact grows older.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import networkx as nx

from tile_ir import Break, Core, Effect, For, If, Op, Stmt
from tile_ir.analysis import Ranges, interval, trip_count
from tile_passes.order.core_blocks import Block, Leaf
from tile_passes.order.core_dependences import Dependence
from tile_passes.order.counters import Signal, open_signals
from tile_passes.order.flow_graph import numbered

# A statement on one core, and the loop whose iterations its facts tell apart.
_Chain: TypeAlias = tuple[Leaf, Core, "Block | None"]


class LeafRun(NamedTuple):
    """A leaf runs on a core, which removes the facts `bits`; `wanted` must be complete before."""

    leaf: Leaf
    core: Core
    bits: int
    wanted: tuple[tuple[Dependence, int], ...]


class Give(NamedTuple):
    """A signal is set."""

    signal: Signal


class Take(NamedTuple):
    """A signal is awaited; `covered` are the facts that it is there for."""

    signal: Signal
    covered: int


class Age(NamedTuple):
    """A loop begins or goes on: its facts grow older, or are those of another run of it."""

    loop: Block
    first: bool


class Meet(NamedTuple):
    """All cores wait for each other."""


_Step: TypeAlias = "LeafRun | Give | Take | Age | Meet"


@dataclass(slots=True)
class CoreFlow:
    """The flow graph of a kernel with places for signals, and its facts.

    `first` has the first fact of each chain, `oldest` how old its last one is. `complete` has what
    a signal tells of the own work of its source, by the place of the step.
    """

    known: Ranges
    signals: Sequence[Signal]
    dependences: Sequence[Dependence]
    steps: list[list[_Step]] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)
    first: dict[_Chain, int] = field(default_factory=dict)
    oldest: dict[_Chain, int] = field(default_factory=dict)
    width: int = 0
    complete: dict[tuple[int, int], int] = field(default_factory=dict)

    def fact(self, d: Dependence) -> int:
        """Return what a dependence asks for."""
        chain = d.earlier.leaf, d.source, _loop_of(d)
        return 1 << self.first[chain] + (0 if d.loop is None else max(1, d.distance))


def core_flow_graph(
    root: Block, signals: Sequence[Signal], dependences: Sequence[Dependence], known: Ranges
) -> CoreFlow:
    """Build the flow graph of a kernel for both kinds of core."""
    flow = CoreFlow(known, signals, dependences)
    for d in dependences:
        chain = d.earlier.leaf, d.source, _loop_of(d)
        age = 0 if d.loop is None else max(1, d.distance)
        flow.oldest[chain] = max(age, flow.oldest.get(chain, 0))
    for chain, oldest in flow.oldest.items():
        flow.first[chain] = flow.width
        flow.width += oldest + 1
    builder = _Builder(flow)
    builder.block(root, builder.new())
    order = numbered(builder.graph)
    number = {block: n for n, block in enumerate(order)}
    flow.steps = [builder.steps[block] for block in order]
    flow.successors = [[number[s] for s in builder.graph.successors(b)] for b in order]
    return flow


def _loop_of(d: Dependence) -> Block | None:
    """The loop whose iterations a dependence tells apart: the innermost around both accesses, if no
    loop carries it."""
    if d.loop is not None:
        return d.loop
    around = {block for block, _ in d.later.leaf.block.chain()}
    return next((b for b, _ in d.earlier.leaf.block.chain() if b in around and b.is_loop), None)


class _Builder:
    def __init__(self, flow: CoreFlow) -> None:
        self.flow = flow
        self.graph: nx.DiGraph[int] = nx.DiGraph()
        self.steps: list[list[_Step]] = []
        self.exits: list[list[int]] = []
        self.places: dict[tuple[Block, int, str], list[Signal]] = {}
        for s in flow.signals:
            self.places.setdefault((s.block, s.before, "before"), []).append(s)
            self.places.setdefault((s.block, s.after, "after"), []).append(s)
            if s.home is not None:
                self.places.setdefault((s.home, s.home_place, "home"), []).append(s)
        self.wanted: dict[tuple[Leaf, Core], list[tuple[Dependence, int]]] = {}
        for d in flow.dependences:
            self.wanted.setdefault((d.later.leaf, d.sink), []).append((d, flow.fact(d)))
        self.bits: dict[tuple[Leaf, Core], int] = {}
        for (leaf, core, _), first in flow.first.items():
            self.bits[leaf, core] = self.bits.get((leaf, core), 0) | 1 << first

    def new(self, *before: int | None) -> int:
        found = len(self.steps)
        self.steps.append([])
        self.graph.add_node(found)
        self.graph.add_edges_from((each, found) for each in before if each is not None)
        return found

    def at(self, block: Block, place: int, where: str) -> list[Signal]:
        return self.places.get((block, place, where), [])

    def block(self, block: Block, at: int) -> int | None:
        """Return the basic block behind a block; None if it always breaks."""
        for place, item in enumerate(block.items):
            for s in self.at(block, place, "home"):
                self.steps[at] += [Give(s)] * s.ahead
            self.steps[at] += map(self.take, self.at(block, place, "before"))
            if isinstance(item.stmt, Break):
                self.leave(block, at)
                return None
            if (leaf := block.leaves.get(place)) is not None:
                self.steps[at] += self.leaf(leaf)
            if place in block.inner:
                after = self.inside(item.stmt, block.inner[place], at)
                if after is None:
                    return None
                at = after
            self.steps[at] += map(Give, self.at(block, place, "after"))
            for s in self.at(block, place, "home"):
                self.steps[at] += [self.take(s)] * s.ahead
        return at

    def take(self, signal: Signal) -> Take:
        covered = 0
        for d in signal.covers:
            covered |= self.flow.fact(d)
        return Take(signal, covered)

    def leaf(self, leaf: Leaf) -> Iterator[_Step]:
        if isinstance(leaf.stmt, Op) and leaf.stmt.opdef.effect is Effect.SYNC_ALL:
            yield Meet()
            return
        for core in leaf.cores:
            own = leaf, core
            yield LeafRun(leaf, core, self.bits.get(own, 0), tuple(self.wanted.get(own, ())))

    def inside(self, stmt: Stmt, blocks: tuple[Block, ...], at: int) -> int | None:
        """Return the basic block behind a loop or branch."""
        if isinstance(stmt, If):
            ends = [self.block(b, self.new(at)) for b in blocks]
            return self.new(*ends) if any(end is not None for end in ends) else None
        body = blocks[0]
        low, high = 0.0, float("inf")
        if isinstance(stmt, For):
            trips = interval(trip_count(stmt), self.flow.known)
            low, high = trips.low, trips.high
        if high < 1:
            return at
        entry, again = self.new(at), self.new()
        self.steps[entry].append(Age(body, True))
        self.steps[again].append(Age(body, False))
        self.exits.append([])
        end = self.block(body, self.new(entry, again))
        if end is not None and high > 1:
            self.graph.add_edge(end, again)
        return self.new(None if low >= 1 else entry, end, *self.exits.pop())

    def leave(self, block: Block, at: int) -> None:
        """Add what a break does before it leaves: the missing parts of signals that are open."""
        if block.parent is not None:
            for s, is_set in open_signals(self.flow.signals, block.parent, block.place):
                self.steps[at].append(self.take(s) if is_set else Give(s))
        self.exits[-1].append(at)
