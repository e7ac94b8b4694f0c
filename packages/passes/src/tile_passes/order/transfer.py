"""What one step of a section changes in what each pipe surely knows to be complete.

A bit stands for an instance: all its executions so far are complete before whatever the pipe does
next; what was never executed is complete. A wait has a bit too: its flag may be set again only by a
pipe that knows the wait is over (docs/hardware/flags.md#flags). Which steps follow which, and what
holds where they join, is found by `completion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from tile_ir import Pipe
from tile_passes.order.channels import Signal, SyncOp
from tile_passes.order.symmetric_loops import Renaming
from tile_passes.order.tree import Block, EarlierRun, Instance, Repeat, Residues

Point: TypeAlias = tuple[Block, int, Residues]
# The bit of its wait for a flag of the plan; a negative number for one of the user's.
FlagKey: TypeAlias = int


class Kind(IntEnum):
    """The kinds of changes, each with what it is about and its operands."""

    # An instance: the number of its pipe, what it must come after, its bit.
    ACCESS = 0
    # A sync op, None for the user's: the number of the source, the flag.
    SET = 1
    # A sync op or None: the number of the target, the flag, the bit of the wait or 0.
    WAIT = 2
    # A sync op or None: the number of the pipe, -1 for all.
    BARRIER = 3
    # The earlier runs of a loop that begins.
    ENTER = 4
    # The point behind an item.
    PASSED = 5
    # The symmetric loop of which a round ends.
    NEXT_ROUND = 6


# A kind as a plain number, which compares faster, what it is about, and three operands.
Change: TypeAlias = tuple[int, Any, int, int, int]
ACCESS, SET, WAIT, BARRIER, ENTER, PASSED, NEXT_ROUND = (int(kind) for kind in Kind)


class State:
    """`known` has a set of bits for each pipe, one behind the other in one number: the lanes of
    `Transfer`. `flags` holds what each raised flag carries.

    Within a basic block bits are taken out of all flags again and again, and few are looked at:
    `gone` has what was taken so far, `raised` how much of that a flag's set is newer than. So what
    holds of a flag is its set without the rest of `gone`.
    """

    __slots__ = ("flags", "gone", "known", "raised")

    def __init__(self, known: int, flags: dict[FlagKey, int]) -> None:
        self.known, self.flags = known, flags
        self.gone = 0
        self.raised: dict[FlagKey, int] = {}

    def copy(self) -> State:
        """Of a settled state."""
        return State(self.known, self.flags.copy())

    def settle(self) -> None:
        """Take what is gone out of all flags."""
        gone, flags, raised = self.gone, self.flags, self.raised
        if gone:
            kept = ~gone
            newer = [(flag, flags[flag] & (kept | then)) for flag, then in raised.items()]
            for flag, bits in flags.items():
                flags[flag] = bits & kept
            flags.update(newer)
            self.gone = 0
        raised.clear()

    def met(self, other: State) -> State:
        """What holds in both; the state itself if all of it does."""
        if other is self:
            return self
        known = self.known & other.known
        theirs, flags = other.flags, self.flags
        if flags != theirs:
            flags = {k: v & theirs[k] for k, v in flags.items() if k in theirs}
        return self if known == self.known and flags == self.flags else State(known, flags)


class Transfer:
    """The changes themselves. `own` has the instances of each pipe as bits, `waits` its waits: what
    a flag set by the pipe carries along. The set of a pipe has a lane of `width` bits.

    Subclasses say what to do at an instance that is not ordered after all it conflicts with, and,
    while `reporting`, where a flag is set and where a pipe learns of other work.
    """

    def __init__(self, index: Mapping[Pipe, int], own: Sequence[int], width: int) -> None:
        self.index, self.own = index, own
        self.scalar = index[Pipe.S]
        self.waits = [0] * len(own)
        self.reporting = False
        self.width = width
        self.lanes = [pipe * width for pipe in range(len(own))]
        self.lane = (1 << width) - 1
        # A bit times this is that bit of every pipe.
        self.each = sum(1 << lane for lane in self.lanes)
        # How what all pipes know, and what a flag carries, is called in the next round of a loop.
        self.later: dict[Repeat, tuple[Renaming, Renaming]] = {}

    def knows(self, pipe: int, known: int) -> int:
        """What the pipe knows, of what all know."""
        return known >> self.lanes[pipe] & self.lane

    # What subclasses may say ---------------------------------------------------------------------

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        """The instance is not ordered after those of `need`."""

    def accessed(self, pipe: int, must: int, state: State) -> None:
        """Called before an instance that must come after others has its effect."""

    def flag_set(self, flag: int, op: Signal, source: int, state: State) -> None:
        """Called before every set of a sync op."""

    def learned(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """Called before a pipe learns these bits, by an op of the plan or else by the user's."""

    def entered(self) -> None:
        """Called where what was done becomes what was done before the last run of a loop."""

    def passed(self, state: State, point: Point) -> None:
        """Called behind every item."""

    def renamed(self, later: Renaming) -> None:
        """Called where facts get the names that they have in the next round of a loop."""

    # The changes ---------------------------------------------------------------------------------

    def apply(self, changes: Iterable[Change], state: State) -> None:
        """Change a settled state by one after another, and settle it. This is where the time of all
        analyses goes: what mostly happens is written out."""
        known, flags, raised = state.known, state.flags, state.raised
        own, waits, scalar, reporting = self.own, self.waits, self.scalar, self.reporting
        lanes, lane, each = self.lanes, self.lane, self.each
        for kind, about, pipe, what, bit in changes:
            if kind == ACCESS:
                if what:
                    if reporting:
                        state.known = known
                        self.accessed(pipe, what, state)
                    if need := what & ~(known >> lanes[pipe]):
                        state.known = known
                        self.uncovered(about, need, state)
                        known = state.known
                if bit & state.gone:
                    state.settle()
                state.gone |= bit
                known &= ~(bit * each)
            elif kind == SET:
                if reporting and about is not None:
                    state.known = known
                    self.flag_set(what, about, pipe, state)
                flags[what] = known >> lanes[pipe] & lane | own[pipe] | waits[pipe]
                raised[what] = state.gone
            elif kind == WAIT:
                carried = flags.pop(what, 0) & (~state.gone | raised.pop(what, 0))
                if bit & state.gone:
                    state.settle()
                state.gone |= bit
                known &= ~(bit * each)
                if reporting or pipe == scalar:
                    # What the scalar unit has waited for is over for all.
                    state.known = known
                    self.learn(pipe, carried | bit * (pipe == scalar), about, state)
                    known = state.known
                else:
                    known |= carried << lanes[pipe]
            else:
                state.known = known
                if kind == BARRIER:
                    self.barrier(pipe, about, state)
                elif kind == PASSED:
                    self.passed(state, about)
                else:
                    self.turn(kind, about, state)
                known = state.known
        state.known = known
        state.settle()

    def turn(self, kind: int, about: Any, state: State) -> None:
        """A loop begins, or its next round does."""
        if kind == ENTER:
            self.enter(about, state)
        else:
            self.next_round(about, state)

    def enter(self, runs: Sequence[EarlierRun], state: State) -> None:
        """What was done so far was done before this run of the loop."""
        self.entered()
        state.settle()
        for run in runs:
            state.known = _with(state.known, run, self.each)
            state.flags.update({flag: _with(bits, run, 1) for flag, bits in state.flags.items()})

    def next_round(self, loop: Repeat, state: State) -> None:
        """What was done in this round was done in the round before."""
        of_pipes, of_one = self.later[loop]
        self.renamed(of_one)
        state.settle()
        state.known = of_pipes(state.known)
        slots = of_one.successors
        carried = {slots.get(flag, flag): of_one(bits) for flag, bits in state.flags.items()}
        state.flags.clear()
        state.flags.update(carried)

    def barrier(self, pipe: int, op: SyncOp | None, state: State) -> None:
        if pipe >= 0:
            self.learn_on(pipe, self.own[pipe], op, state)
            return
        for each in range(len(self.own)):
            self.learn_on(each, self.lane, op, state)

    def learn(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """What the scalar unit waits for holds back everything issued after."""
        for each in range(len(self.own)) if pipe == self.scalar else (pipe,):
            self.learn_on(each, bits, op, state)

    def learn_on(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        if self.reporting:
            self.learned(pipe, bits, op, state)
        state.known |= bits << self.lanes[pipe]


def _with(bits: int, run: EarlierRun, each: int) -> int:
    """With the fact of the run as that of its instance, in each set of bits."""
    done = bits >> run.instance.bit & each
    return bits & ~(each << run.bit) | done << run.bit
