"""Compute which work each pipe knows to be complete, at every point of a section under a plan.

A fact stands for an instance: all its executions so far are complete before whatever the pipe does
next; what was never executed is complete. A wait has a fact too: its flag may be set again only by
a pipe that knows the wait is over (docs/hardware/flags.md#flags). The lanes of a state are the
pipes. Subclasses say what to do at an instance that is not ordered after all it conflicts with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tile_ir import Pipe
from tile_passes.order.channels import Action, Barrier, Do, Flag, Plan, PointToPoint, Signal, SyncOp
from tile_passes.order.flow_graph import (
    Access,
    Break,
    Enter,
    FlowGraph,
    Gap,
    Halt,
    Rounds,
    Set,
    Step,
    Wait,
)
from tile_passes.order.tree import EarlierRun, Instance, Residues
from tile_passes.order.worklist import Dataflow, State

C = TypeVar("C", bound="Completion")


class Completion(Dataflow):
    """The analysis under one plan, which another analysis may have `solved`."""

    # Whether `passed` is to be called.
    watches_gaps = False

    def __init__(self, flow: FlowGraph, plan: Plan, solved: Completion | None = None) -> None:
        super().__init__(flow.successors)
        self.flow, self.tree, self.plan = flow, flow.tree, plan
        self.index, self.own, self.scalar = flow.index, flow.own, flow.index[Pipe.S]
        self.first_bit: dict[Signal, int] = {}
        # The waits of each pipe: a flag that it sets carries them along.
        self.waits = [0] * len(flow.own)
        self.width: int
        bit = flow.tree.free_bit()
        for op in plan.signals if solved is None else ():
            self.first_bit[op] = bit
            self.waits[self.index[op.target]] |= ((1 << op.slots) - 1) << bit
            bit += op.slots
        if solved is not None:
            self.first_bit, self.waits, bit = solved.first_bit, solved.waits, solved.width
        self.width = bit
        self.lanes = [pipe * bit for pipe in range(len(flow.own))]
        self.lane = (1 << bit) - 1
        # A bit times this is that bit of every pipe.
        self.each = sum(1 << lane for lane in self.lanes)
        if solved is None:
            self.steps = [[*self._planned(steps)] for steps in flow.steps]
        else:
            self.steps, self.entries = solved.steps, solved.entries

    @classmethod
    def beside(cls: type[C], solved: Completion) -> C:
        """Return this analysis of a plan that another one has solved."""
        return cls(solved.flow, solved.plan, solved)

    def solve(self) -> None:
        """Compute the entries of all blocks: at the beginning everything is complete."""
        self.solve_from(State(self.each * self.lane, {}))

    def without(self: C, ops: Iterable[SyncOp]) -> C:
        """Return the solved analysis of the plan without these ops, which keep their bits.

        Without them no state holds more: it is enough to run the blocks in which they stand, from
        the states there are, and those whose entries lose something by it.
        """
        ops = tuple(ops)
        gone = {id(op) for op in ops}  # hashing them takes longer
        less = self.weakened()
        less.plan, less.steps = self.plan.without(*ops), self.steps.copy()
        changed = []
        for number, steps in enumerate(self.steps):
            kept = [step for step in steps if id(step[0]) not in gone]
            if len(kept) < len(steps) and self.entries[number] is not None:
                less.steps[number] = kept
                changed.append(number)
        less.propagate(changed)
        return less

    def knows(self, pipe: int, known: int) -> int:
        """Return what the pipe knows, of what all know."""
        return known >> self.lanes[pipe] & self.lane

    # What subclasses may say ---------------------------------------------------------------------

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        """The instance is not ordered after those of `need`."""

    def flag_set(self, flag: int, op: Signal, source: int, state: State) -> None:
        """Called before every set of a sync op, while `reporting`."""

    def passed(self, gap: Gap, state: State) -> None:
        """Called behind every item."""

    # The transfer function -----------------------------------------------------------------------

    def run(self, number: int, state: State) -> None:
        """Apply the steps of a block to a settled state, and settle it. This is where the time of
        all analyses goes: frequent steps are written out."""
        known, flags, raised = state.known, state.flags, state.raised
        own, waits, scalar, reporting = self.own, self.waits, self.scalar, self.reporting
        lanes, lane, each = self.lanes, self.lane, self.each
        for step in self.steps[number]:
            if type(step) is Access:
                instance, pipe, must, bit = step
                if need := must & ~(known >> lanes[pipe]):
                    state.known = known
                    self.uncovered(instance, need, state)
                    known = state.known
                if bit & state.gone:
                    state.settle()
                state.gone |= bit
                known &= ~(bit * each)
            elif type(step) is Set:
                op, pipe, flag = step
                if reporting and op is not None:
                    state.known = known
                    self.flag_set(flag, op, pipe, state)
                flags[flag] = known >> lanes[pipe] & lane | own[pipe] | waits[pipe]
                raised[flag] = state.gone
            elif type(step) is Wait:
                _, pipe, flag, bit = step
                carried = flags.pop(flag, 0) & (~state.gone | raised.pop(flag, 0))
                if bit & state.gone:
                    state.settle()
                state.gone |= bit
                known &= ~(bit * each)
                if pipe == scalar:
                    # What the scalar unit has waited for is over for all.
                    known |= (carried | bit) * each
                else:
                    known |= carried << lanes[pipe]
            else:
                state.known = known
                match step:
                    case Halt(pipe=pipe):
                        self.stop(pipe, state)
                    case Gap():
                        self.passed(step, state)
                    case Enter(runs=runs):
                        self.enter(runs, state)
                known = state.known
        state.known = known
        state.settle()

    def stop(self, pipe: int, state: State) -> None:
        """A barrier of one pipe, or of all: -1."""
        if pipe < 0:
            state.known |= self.lane * self.each
        else:
            self.learn(pipe, self.own[pipe], state)

    def learn(self, pipe: int, bits: int, state: State) -> None:
        """A pipe learns; what the scalar unit waits for holds back everything issued after."""
        state.known |= bits * self.each if pipe == self.scalar else bits << self.lanes[pipe]

    def enter(self, runs: Iterable[EarlierRun], state: State) -> None:
        """What was done so far was done before this run of the loop."""
        state.settle()
        for run in runs:
            state.known = _with(state.known, run, self.each)
            state.flags.update({flag: _with(bits, run, 1) for flag, bits in state.flags.items()})

    # From a plan to steps ------------------------------------------------------------------------

    def _planned(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield the steps of a basic block, sync ops in their places."""
        gaps, by_round = self.plan.gaps, self.plan.by_round
        for step in steps:
            if isinstance(step, Gap):
                if step.behind and self.watches_gaps:
                    yield step
                for action in gaps.get(step[:3], ()):
                    yield from self._steps(action, step.residues)
            elif isinstance(step, Rounds):
                for flag in by_round.get(step.loop, ()):
                    for t in range(flag.distance):
                        yield self._signal(flag, step.do, step.residue + t)
            elif isinstance(step, Break):
                for action in self.plan.at_break(step.leave):
                    yield from self._steps(action, step.residues)
            else:
                yield step

    def _steps(self, action: Action, residues: Residues) -> Iterator[Step]:
        """Yield the steps of an action, in an iteration with these residues."""
        do, op = action
        turn = residues[-1] if residues else 0
        match op:
            case Barrier(pipe=pipe):
                yield Halt(op, -1 if pipe is Pipe.ALL else self.index[pipe])
            case PointToPoint():
                yield self._signal(op, Do.SET, 0)
                yield self._signal(op, Do.WAIT, 0)
            case Flag(slots=slots) if do in (Do.PRIME, Do.DRAIN):
                for slot in range(slots):
                    yield self._signal(op, Do.SET if do is Do.PRIME else Do.WAIT, slot)
            case Flag():
                yield self._signal(op, do, turn + op.distance if do is Do.SET else turn)

    def _signal(self, op: Signal, do: Do, turn: int) -> Step:
        flag = self.first_bit[op] + turn % op.slots
        if do is Do.SET:
            return Set(op, self.index[op.source], flag)
        return Wait(op, self.index[op.target], flag, 1 << flag)


def _with(bits: int, run: EarlierRun, each: int) -> int:
    """With the fact of the run as that of its instance, in each set of bits."""
    done = bits >> run.instance.bit & each
    return bits & ~(each << run.bit) | done << run.bit


# Whether a plan orders every conflict ------------------------------------------------------------


class Unordered(Exception):
    """Something is not ordered."""


class Check(Completion):
    """The analysis of a plan, stopped at the first conflict that the plan does not order: what is
    not in a state on the way is not in the final one either."""

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        raise Unordered

    def suffices_without(self, ops: Iterable[SyncOp]) -> Check | None:
        """Return the check without these ops, if all is ordered as it is with them."""
        try:
            return self.without(ops)
        except Unordered:
            return None


def orders(flow: FlowGraph, plan: Plan) -> bool:
    """Return whether the plan orders every conflict."""
    try:
        Check(flow, plan).solve()
    except Unordered:
        return False
    return True
