"""What each pipe surely knows to be complete, at every point of a section, under a given plan.

A forward must-dataflow in worklist form over the states of `transfer`; facts meet where control
flow joins. Needs: the flow of a section and a plan, which it never changes. Gives: what is not
ordered, and more to those that ask.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from functools import reduce
from operator import itemgetter, or_
from typing import TypeVar

from tile_ir import Pipe
from tile_passes.order.channels import (
    Barrier,
    Do,
    Flag,
    Plan,
    PointToPoint,
    Signal,
    SyncOp,
)
from tile_passes.order.flow import Changes, Flow
from tile_passes.order.symmetric_loops import Renaming
from tile_passes.order.transfer import BARRIER, SET, WAIT, Change, State, Transfer
from tile_passes.order.tree import Repeat, counted_loops

C = TypeVar("C", bound="Completion")


class Completion(Transfer):
    """The analysis under one plan.

    `solve` finds the state at the entry of every basic block; `report` then runs blocks once in
    their final state, with `reporting` set: all, or those that have something to tell. An analysis
    of a plan that another one has `solved` takes the states from it.
    """

    # Whether `passed` is to be called.
    watches_points = False

    def __init__(self, flow: Flow, plan: Plan, solved: Completion | None = None) -> None:
        first = flow.tree.free_bit()
        width = first + sum(op.slots for op in plan.signals) if solved is None else solved.width
        super().__init__(flow.index, flow.own, width)
        self.flow, self.tree, self.plan = flow, flow.tree, plan
        self.first_bit: dict[Signal, int]
        self.changes: list[list[Change]]
        self.entries: list[State | None]
        # The block that is run.
        self.at = 0
        if solved is not None:
            self.first_bit, self.waits = solved.first_bit, solved.waits
            self.changes, self.entries = solved.changes, solved.entries
            self.later = solved.later
            return
        self.first_bit = {}
        bit = first
        for op in plan.signals:
            self.first_bit[op] = bit
            self.waits[self.index[op.target]] |= ((1 << op.slots) - 1) << bit
            bit += op.slots
        self.later = self._renamings()
        self.changes = self._all_changes()
        self.entries = []

    def bits_of(self, op: Signal) -> int:
        """The waits of an op."""
        return ((1 << op.slots) - 1) << self.first_bit[op]

    def solve(self) -> None:
        self.entries = [None] * len(self.flow.blocks)
        self.entries[0] = State(self.each * self.lane, {})
        self.propagate([0])

    @classmethod
    def beside(cls: type[C], solved: Completion) -> C:
        """This analysis of a plan that another one has solved."""
        return cls(solved.flow, solved.plan, solved)

    def propagate(self, changed: Iterable[int]) -> None:
        """Run these blocks, and those whose entry holds less for it, the first of them first."""
        entries, blocks = self.entries, self.flow.blocks
        waiting = reduce(or_, (1 << number for number in changed), 0)
        while waiting:
            first = waiting & -waiting
            waiting ^= first
            number = first.bit_length() - 1
            entry = entries[number]
            assert entry is not None, "only what is reached is waiting"
            state = entry.copy() if self.changes[number] else entry
            self.run(number, state)
            for successor in blocks[number].successors:
                known = entries[successor]
                met = state if known is None else known.met(state)
                if met is not known:
                    entries[successor] = met
                    waiting |= 1 << successor

    def without(self: C, ops: Iterable[SyncOp]) -> C:
        """The solved analysis of the plan without these ops, which keep their bits.

        Without them no state holds more: it is enough to run the blocks they stand in, from the
        states there are, and those whose entries lose something by it.
        """
        ops = tuple(ops)
        gone = {id(op) for op in ops}  # hashing them takes longer
        less = copy(self)
        less.plan = self.plan.without(*ops)
        less.changes, less.entries = self.changes.copy(), self.entries.copy()
        less.reporting = False
        changed = []
        for number, changes in enumerate(self.changes):
            kept = [change for change in changes if id(change[1]) not in gone]
            if len(kept) < len(changes) and self.entries[number] is not None:
                less.changes[number] = kept
                changed.append(number)
        less.propagate(changed)
        return less

    def report(self, blocks: Iterable[int] | None = None) -> None:
        self.reporting = True
        for number in range(len(self.entries)) if blocks is None else blocks:
            entry = self.entries[number]
            if entry is not None:
                self.run(number, entry.copy() if self.changes[number] else entry)

    def run(self, number: int, state: State) -> None:
        """The effect of one basic block on the state at its entry."""
        self.at = number
        self.apply(self.changes[number], state)

    def _renamings(self) -> dict[Repeat, tuple[Renaming, Renaming]]:
        """By loop: of facts about instances, and about the slots of flags in its rounds."""
        found: dict[Repeat, tuple[Renaming, Renaming]] = {}
        for loop, instances in self.flow.symmetric.items():
            successors = {**instances}
            for op, bit in self.first_bit.items():
                if op.slots > 1 and counted_loops(op.block)[-1] is loop:
                    successors |= {bit + s: bit + (s - 1) % op.slots for s in range(op.slots)}
            each = {b + lane: then + lane for b, then in successors.items() for lane in self.lanes}
            found[loop] = Renaming(each), Renaming(successors)
        return found

    # From a plan to changes ----------------------------------------------------------------------

    def _all_changes(self) -> list[list[Change]]:
        """Those of each basic block in order: of the flow, and of the plan."""
        flow = self.flow
        added: dict[int, Changes] = defaultdict(list)
        for gap, actions in self.plan.gaps.items():
            places = flow.gaps.get(gap, ())
            for do, op in actions if places else ():
                by_turn = self._by_turn(do, op)
                for (number, step), turn in places:
                    added[number] += [(step, c) for c in by_turn[turn % len(by_turn)]]
        for loop, flags in self.plan.by_round.items():
            # What is raised before a loop and taken back after it, of flags whose rounds matter.
            for (number, step), first, do in flow.ends.get(loop, ()):
                for flag in flags:
                    slots = ((first + t) % flag.slots for t in range(flag.distance))
                    added[number].extend((step, self._signal(flag, slot, do)) for slot in slots)
        for (number, step), left in flow.breaks:
            for do, op in self.plan.at_break(left.leave):
                by_turn = self._by_turn(do, op)
                added[number] += [(step, c) for c in by_turn[left.turn % len(by_turn)]]
        found = []
        for number, changes in enumerate(flow.watched if self.watches_points else flow.changes):
            if number in added:
                changes = sorted([*changes, *added[number]], key=itemgetter(0))
            found.append([change for _, change in changes])
        return found

    def _by_turn(self, do: Do, op: SyncOp) -> list[list[Change]]:
        """The changes of an action in each turn of the slots of its op."""
        match op:
            case Barrier(pipe=pipe):
                return [[(BARRIER, op, -1 if pipe is Pipe.ALL else self.index[pipe], 0, 0)]]
            case PointToPoint():
                return [[self._signal(op, 0, Do.SET), self._signal(op, 0, Do.WAIT)]]
            case Flag(slots=slots) if do in (Do.PRIME, Do.DRAIN):
                sets = Do.SET if do is Do.PRIME else Do.WAIT
                return [[self._signal(op, slot, sets) for slot in range(slots)]]
            case Flag(slots=slots):
                ahead = op.distance if do is Do.SET else 0
                return [[self._signal(op, (turn + ahead) % slots, do)] for turn in range(slots)]

    def _signal(self, op: Signal, slot: int, do: Do) -> Change:
        flag = self.first_bit[op] + slot
        if do is Do.SET:
            return SET, op, self.index[op.source], flag, 0
        return WAIT, op, self.index[op.target], flag, 1 << flag
