"""Compute which work is complete for each pipe, at every point of a section under a plan.

A fact stands for an instance: all its executions so far are complete before the pipe's next work;
an instance without executions is complete. A wait has a fact too: its flag may be set again only by
a pipe for which the wait is over (docs/hardware/index.md#flags). The lanes of a state are the
pipes. Subclasses handle an instance that is not ordered after all it conflicts with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

from tile_ir import Pipe
from tile_passes.order.channels import Action, Barrier, Counter, Flag, Plan, SyncOp
from tile_passes.order.flow_graph import Access, Enter, FlowGraph, Gap, Halt, Signal, Step
from tile_passes.order.tree import Residues
from tile_passes.order.worklist import Dataflow, State

C = TypeVar("C", bound="Completion")


class Unordered(Exception):
    """Something is not ordered: an instance or leaf, and what it must come after."""


class Completion(Dataflow):
    """The analysis under one plan, which another analysis may have `solved`."""

    # Whether `passed` is to be called.
    watches_gaps = False
    # The counters that tell something new of what they are there for. Where these are collected,
    # any other one is taken for not there.
    telling: set[Counter] | None = None

    def __init__(self, flow: FlowGraph, plan: Plan, solved: Completion | None = None) -> None:
        super().__init__(flow.successors)
        self.flow, self.tree, self.plan = flow, flow.tree, plan
        self.index, self.own, self.scalar = flow.index, flow.own, flow.index.get(Pipe.S, -1)
        self.width = flow.width
        self.first_bit: dict[Flag, int] = {}
        if solved is None:
            bits: dict[object, int] = {}
            for op in plan.flags:
                self.first_bit[op] = bits.setdefault(op.identity, self.width)
                self.width = max(self.width, self.first_bit[op] + op.room)
            self.steps = [[*self._planned(steps)] for steps in flow.steps]
        else:
            self.first_bit, self.width = solved.first_bit, solved.width
            self.steps, self.entries = solved.steps, solved.entries
        # The waits of each pipe: a flag that it sets carries them along.
        self.waits = [0] * len(flow.own)
        for op in self.first_bit:
            self.waits[self.index[op.target]] |= self.waits_of(op)
        self.lanes = [pipe * self.width for pipe in range(len(flow.own))]
        self.lane = (1 << self.width) - 1
        # A bit times this is that bit of every pipe.
        self.each = sum(1 << lane for lane in self.lanes)

    def solve(self) -> None:
        """Compute the entries of all blocks: at the beginning everything is complete."""
        self.solve_from(State(self.each * self.lane, {}))

    def suffices_without(self: C, ops: Iterable[SyncOp]) -> C | None:
        """Return the analysis without these ops, if all is ordered as it is with them."""
        try:
            return self.without(ops)
        except Unordered:
            return None

    def without(self: C, ops: Iterable[SyncOp]) -> C:
        """Return the solved analysis of the plan without these ops, which keep their bits.

        Without them no state holds more: it is enough to run the blocks in which they stand, from
        the states there are, and those whose entries lose something by it. A gap takes the place of
        each step, so that the others keep theirs.
        """
        ops, less, gap = tuple(ops), copy(self), Gap(self.tree.root, 0, False, ())
        less.steps, less.entries, less.reporting = self.steps.copy(), self.entries.copy(), False
        places = [p for op in ops for p in self.standing[id(op)] if self.entries[p[0]] is not None]
        for number in (changed := {number for number, _ in places}):
            less.steps[number] = self.steps[number].copy()
        for number, position in places:
            less.steps[number][position] = gap
        less.propagate(changed)
        less.plan = self.plan.without(*ops)
        return less

    @cached_property
    def standing(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """The blocks and places in which each op stands, by its identity."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, steps in enumerate(self.steps):
            for position, step in enumerate(steps):
                if type(step) is Signal or type(step) is Halt:
                    found[id(step.op)].append((number, position))
        return found

    def waits_of(self, op: Flag) -> int:
        """Return the facts that waits of a flag are over."""
        return ((1 << op.room) - 1) << self.first_bit[op]

    def knows(self, pipe: int, known: int) -> int:
        """Return the facts of one pipe, from the facts of all pipes."""
        return known >> self.lanes[pipe] & self.lane

    # What subclasses may say ---------------------------------------------------------------------

    def uncovered(self, instance: Any, need: int, state: State) -> None:
        """The instance, or leaf, is not ordered after those of `need`. A solution has only less."""
        if self.telling is None:
            raise Unordered(instance, need)

    def flag_set(self, flag: int, op: Flag, source: int, state: State) -> None:
        """Called before every set of a sync op, while `reporting`."""

    def passed(self, gap: Gap, state: State) -> None:
        """Called behind every item."""

    # The transfer function -----------------------------------------------------------------------

    def run(self, number: int, state: State) -> None:
        """Apply the steps of a block to the state. This is where the time of all analyses goes:
        frequent steps are written out."""
        known, flags = state.known, state.flags
        own, waits, scalar, reporting = self.own, self.waits, self.scalar, self.reporting
        lanes, lane, each = self.lanes, self.lane, self.each
        for step in self.steps[number]:
            if type(step) is Access:
                instance, pipe, must, bit = step
                if need := must & ~(known >> lanes[pipe]):
                    state.known = known
                    self.uncovered(instance, need, state)
                    known = state.known
                known, kept = known & ~(bit * each), ~bit
                for other, carried in flags.items():
                    flags[other] = carried & kept
            elif type(step) is Signal:
                op, pipe, flag, sets, bits = step
                if type(op) is Counter:
                    state.known = known
                    self.count(step, op, state)
                    known = state.known
                elif sets:
                    if reporting and op is not None:
                        state.known = known
                        self.flag_set(flag, op, pipe, state)
                    flags[flag] = known >> lanes[pipe] & lane | own[pipe] | waits[pipe]
                else:
                    told = flags.pop(flag, 0)
                    known, kept = known & ~(bits * each), ~bits
                    for other, carried in flags.items():
                        flags[other] = carried & kept
                    if pipe == scalar:
                        # What the scalar unit has waited for is over for all.
                        known |= (told | bits) * each
                    else:
                        known |= told << lanes[pipe]
            elif type(step) is Gap:
                state.known = known
                self.passed(step, state)
            else:
                state.known = known
                if isinstance(step, Enter):
                    # Facts about iterations or runs of a loop become facts about earlier ones.
                    state.known = step.older(known, each)
                    flags.update({flag: step.older(bits, 1) for flag, bits in flags.items()})
                else:
                    self.stop(step.pipe, state)
                known = state.known
        state.known = known

    def stop(self, pipe: int, state: State) -> None:
        """A barrier of one pipe, or of all: -1."""
        if pipe < 0:
            state.known |= self.lane * self.each
        else:
            self.learn(pipe, self.own[pipe], state)

    def learn(self, pipe: int, bits: int, state: State) -> None:
        """A pipe learns; what the scalar unit waits for holds back everything issued after."""
        state.known |= bits * self.each if pipe == self.scalar else bits << self.lanes[pipe]

    def count(self, step: Signal, counter: Counter, state: State) -> None:
        """Add a signal to its counter, which holds signals in a row; or take the first of them."""
        _, place, flag, sets, bits = step
        flags, lane = state.flags, self.lanes[place]
        if sets:
            while flag in flags:
                flag += 1
            flags[flag] = self.knows(place, state.known) | bits
            return
        told = flags.pop(flag, 0)
        while flag + 1 in flags:
            flags[flag] = flags.pop(flag + 1)
            flag += 1
        if self.telling is not None and told & ~(state.known >> lane) & bits:
            self.telling.add(counter)
        if self.telling is None or counter in self.telling:
            state.known |= told << lane

    # From a plan to steps ------------------------------------------------------------------------

    def _planned(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield the steps of a basic block, sync ops in their places."""
        plan, watches = self.plan, self.watches_gaps
        for step in steps:
            if type(step) is not Gap or (step.behind and watches):
                yield step
            if plan.ops and type(step) is Gap:
                for action in plan.at(*step[:3]):
                    yield from self._steps(action, step.residues)

    def _steps(self, action: Action, residues: Residues) -> Iterator[Step]:
        """Yield the steps of an action, in an iteration with these residues."""
        do, op = action
        if isinstance(op, Barrier):
            yield Halt(op, -1 if op.pipe is Pipe.ALL else self.index[op.pipe])
            return
        sets, first = do.sets, self.first_bit[op]
        place = self.index[op.source if sets else op.target]
        for turn in op.turns(do, residues[-1] if residues else 0):
            if isinstance(op, Counter):
                bits = 0 if sets else self.flow.facts.asked(op.covers)
                yield Signal(op, place, first, sets, bits)
            else:
                flag = first + turn % op.slots
                yield Signal(op, place, flag, sets, 0 if sets else 1 << flag)


def orders(flow: FlowGraph, plan: Plan) -> bool:
    """Return whether the plan orders every conflict."""
    try:
        Completion(flow, plan).solve()
    except Unordered:
        return False
    return True
