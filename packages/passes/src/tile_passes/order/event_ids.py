"""Gives every flag its event ids: an interference graph, coloured; and where colours run out, or a
flag may be set while it is still set, a list of spills.

Needs: a plan that orders everything. Gives: one that does so with the ids there are, and the ids.
The spills themselves are in `spill`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product
from typing import TypeAlias

from tile_ir import Effect, IRError, Op, Pipe, Target
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.section_time import ModelledTime
from tile_passes.graphs import nx
from tile_passes.order.channels import Flag, Pair, Plan
from tile_passes.order.completion import Completion
from tile_passes.order.eliminate_redundant import reduce as reduced
from tile_passes.order.eliminate_redundant import spared
from tile_passes.order.flow_graph import FlowGraph, Signal
from tile_passes.order.placement import place
from tile_passes.order.spill import give_up, hold_back, spill
from tile_passes.order.tree import Block, Instance, Item, Order
from tile_passes.order.worklist import State

_OF_ENGINE = (Effect.ENGINE, Effect.AWAIT_ENGINE)
# The number of a flag and its slot; or a pair of pipes and an event id of the author's.
_Slot: TypeAlias = tuple[int | Pair, int]
InterferenceGraph: TypeAlias = "nx.Graph[_Slot]"

# Attempts at spills before a pair of pipes gets no more flags, and before giving up.
PATIENCE, MOST_ATTEMPTS = 60, 200
# Of more ops than this, none is tried without after the changes, and spills go by their order.
MOST_TRIED = 200


@dataclass(frozen=True, slots=True)
class Allocation:
    """A plan, and the first event id of every flag in it."""

    plan: Plan
    events: Mapping[Flag, int] = field(default_factory=dict)


def allocate_events(solved: Completion, target: Target) -> Allocation:
    """Event ids for every flag of a plan that orders everything, changed where it must be. Raises
    IRError (`sync-events`) if that never ends: a bug of the compiler."""
    flow, plan = solved.flow, solved.plan
    modelled_time = ModelledTime(flow.tree, target)

    def price(plan: Plan) -> float:
        return modelled_time(plan) if len(plan.ops) <= MOST_TRIED else 0

    for count in range(MOST_ATTEMPTS):
        live = live_flags(flow, plan, None if count else solved)
        if live.incomplete:
            plan = place(flow.tree, plan, reduced(flow, plan).edges())
        elif live.early:
            change = give_up if count > PATIENCE else hold_back
            plan = change(flow.tree, plan, [*live.early])
        else:
            events, failed = colour(live, target)
            if not failed:
                spilled = count and len(plan.ops) <= MOST_TRIED
                found = Allocation(plan, events)
                return _without_superfluous(live, found, target) if spilled else found
            if count > PATIENCE:
                plan = give_up(flow.tree, plan, failed)
                continue
            for op in failed:
                if op in plan.ops:
                    rivals = [r for r in live.rivals_of(op) if r in plan.ops]
                    plan = spill(flow.tree, plan, op, rivals, price)
    where = flow.tree.root.items[0].loc
    raise IRError("sync-events", "no assignment of event ids was found", where)


def _without_superfluous(live: LiveFlags, found: Allocation, target: Target) -> Allocation:
    """The plan without what the spills have made superfluous, as far as ids still suffice."""

    def has_ids(less: Completion) -> bool:
        nonlocal found
        events, failed = colour(fewer := live_flags(less.flow, less.plan, less), target)
        suffices = not (fewer.early or failed)
        found = Allocation(less.plan, events) if suffices else found
        return suffices

    spared(Completion(live.flow, live.plan, live), live.plan.ops[::-1], has_ids)
    return found


class LiveFlags(Completion):
    """The flags that may be in flight at once. `interference` has for each flag, by their numbers
    in the plan, those of its ordered pair of pipes of which the wait of the one may not be over
    when the other is set; `early` has the flags whose own last wait may not be; `incomplete` says
    that some conflict is not ordered."""

    def __init__(self, flow: FlowGraph, plan: Plan, solved: Completion | None = None) -> None:
        super().__init__(flow, plan, solved)
        self.flags = dict(enumerate({op.identity: op for op in plan.flags}.values()))
        self.early: dict[Flag, None] = {}
        self.incomplete = False
        self.interference: dict[int, set[int]] = defaultdict(set)
        # The flag of each bit.
        self.numbers = {
            self.first_bit[op] + slot: n for n, op in self.flags.items() for slot in range(op.slots)
        }
        pairs: dict[Pair, int] = defaultdict(int)
        for op in self.flags.values():
            pairs[op.pair] |= self.waits_of(op)
        # The waits of all other flags of the pair.
        self.rivals = [pairs[op.pair] & ~self.waits_of(op) for op in self.flags.values()]

    def rivals_of(self, op: Flag) -> list[Flag]:
        """The flags of several slots that may be in flight when another is set."""
        (number,) = (n for n, other in self.flags.items() if other == op)
        found = (self.flags[n] for n in sorted(self.interference[number]))
        return [f for f in found if f.slots > 1]

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        self.incomplete = True

    def flag_set(self, flag: int, op: Flag, source: int, state: State) -> None:
        known = self.knows(source, state.known)
        if flag in state.flags or not known >> flag & 1:
            self.early[op] = None
        number = self.numbers[flag]
        raised = sum(1 << other for other in state.flags if other >= 0)
        live = self.rivals[number] & (raised | ~known)
        while live:
            bit = live.bit_length() - 1
            live ^= 1 << bit
            other = self.numbers[bit]
            self.interference[number].add(other)
            self.interference[other].add(number)


def live_flags(flow: FlowGraph, plan: Plan, solved: Completion | None = None) -> LiveFlags:
    """The flags in flight at once under a plan, which another analysis may have `solved`."""
    found = LiveFlags(flow, plan, solved)
    if solved is None:
        found.solve()
    sets = (any(type(s) is Signal and s.sets and s.op for s in steps) for steps in found.steps)
    found.report(number for number, any_set in enumerate(sets) if any_set)
    return found


def colour(live: LiveFlags, target: Target) -> tuple[dict[Flag, int], list[Flag]]:
    """Colour the interference graph greedily, and return the flags for which no id was left too.
    A node is one slot of a flag, or an id of the author's. The flags of loops come first: they have
    the fewest places to go. One of several slots takes as many ids in a row, so that its slots are
    coloured together."""
    limit, of_user = target.events_per_pair, _of_user(live.tree.root, target)
    graph: InterferenceGraph = nx.Graph()
    slots = {n: [(n, slot) for slot in range(op.slots)] for n, op in live.flags.items()}
    taken: dict[_Slot, int] = {}
    for number, op in live.flags.items():
        authors: dict[_Slot, int] = {(op.pair, event): event for event in of_user[op.pair]}
        taken |= authors
        graph.add_nodes_from(slots[number])
        others = (slot for other in live.interference[number] for slot in slots[other])
        graph.add_edges_from(product(slots[number], (*others, *authors)))

    def in_rows(graph: InterferenceGraph, ids: dict[_Slot, int]) -> Iterator[_Slot]:
        ids.update(taken)
        for number, op in sorted(live.flags.items(), key=lambda n: not n[1].carried):
            first, count = slots[number][0], op.slots
            if count == 1:
                yield first
                continue
            used = {ids[other] for other in graph[first] if other in ids}
            rows = (range(n, n + count) for n in range(limit - count + 1))
            row = next((row for row in rows if used.isdisjoint(row)), [limit] * count)
            ids.update(zip(slots[number], row, strict=True))

    ids = nx.greedy_color(graph, in_rows)
    first = {op: ids[live.numbers[live.first_bit[op]], 0] for op in live.plan.flags}
    found = {op: event for op, event in first.items() if event + op.slots <= limit}
    failed = [op for op in live.flags.values() if op not in found]
    return found, sorted(failed, key=lambda op: not op.carried)


def _of_user(root: Block, target: Target) -> dict[Pair, set[int]]:
    """The ids that flags of the kernel's author may use, and the one of the engine's functions:
    these become functions of the library that set and wait for a flag of their own."""
    taken: dict[Pair, set[int]] = defaultdict(set)
    last = target.events_per_pair - 1
    for item in root.walk():
        match item:
            case Order(spans=spans):
                for span in spans.values():
                    ids = range(int(max(span.low, 0)), int(min(span.high, last)) + 1)
                    taken[item.pair].update(ids)
            case Item(stmt=Op(opdef=opdef)) if opdef.effect in _OF_ENGINE:
                taken[Pipe.MTE3, Pipe.MTE2].add(last)
    return taken
