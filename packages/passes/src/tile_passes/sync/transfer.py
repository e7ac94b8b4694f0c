"""What one step of a section changes in what each pipe surely knows to be complete.

A bit stands for an instance: all its executions so far are complete before whatever the pipe does
next; what was never executed is complete. A wait has a bit too: its flag may be set again only by a
pipe that knows the wait is over (docs/hardware/flags.md#flags). Which steps follow which, and what
holds where they join, is found by `completion`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tile_ir.machine import Pipe
from tile_passes.sync.sync_ops import Signal, SyncOp
from tile_passes.sync.tree import Block, EarlierRun, Instance, Residues

Point: TypeAlias = tuple[Block, int, Residues]
# The bit of its wait for a flag of the plan; a negative number for one of the user's.
FlagKey: TypeAlias = int
# A method of `Transfer` that changes a state, and its operands; the last of those of a plan is the
# op they are for.
Change: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


class State:
    """`known` holds a set of bits for each pipe, `flags` what each raised flag carries, but for the
    bits that are `stale`: within a basic block, flags are many and seldom looked at."""

    __slots__ = ("flags", "known", "stale")

    def __init__(self, known: list[int], flags: dict[FlagKey, int]) -> None:
        self.known = known
        self.flags = flags
        self.stale = 0

    def copy(self) -> State:
        return State(self.known.copy(), self.flags.copy())

    def settle(self) -> None:
        """Take what is stale out of all flags."""
        if self.stale:
            others = ~self.stale
            for flag, bits in self.flags.items():
                self.flags[flag] = bits & others
            self.stale = 0

    def met(self, other: State) -> State:
        """What holds in both; the state itself if all of it does."""
        known = [a & b for a, b in zip(self.known, other.known, strict=True)]
        theirs = other.flags
        flags = {k: v & theirs[k] for k, v in self.flags.items() if k in theirs}
        return self if known == self.known and flags == self.flags else State(known, flags)


class Transfer:
    """The changes themselves. `own` has the instances of each pipe as bits, `waits` its waits: what
    a flag set by the pipe carries along.

    Subclasses say what to do at an instance that is not ordered after all it conflicts with, and,
    while `reporting`, where a flag is set and where a pipe learns of other work.
    """

    def __init__(self, index: Mapping[Pipe, int], own: Sequence[int]) -> None:
        self.index, self.own = index, own
        self.scalar = index[Pipe.S]
        self.waits = [0] * len(own)
        self.reporting = False

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

    # The changes ---------------------------------------------------------------------------------

    def access(
        self, state: State, instance: Instance, pipe: int, must: int, bit: int
    ) -> None:
        if must:
            if self.reporting:
                self.accessed(pipe, must, state)
            if need := must & ~state.known[pipe]:
                self.uncovered(instance, need, state)
        self.forget(bit, state)

    def forget(self, bit: int, state: State) -> None:
        """This bit was true of an earlier execution only."""
        others = ~bit
        state.known = [bits & others for bits in state.known]
        state.stale |= bit

    def set(self, state: State, flag: FlagKey, source: int, op: Signal | None) -> None:
        if self.reporting and op is not None and flag >= 0:
            self.flag_set(flag, op, source, state)
        state.settle()
        state.flags[flag] = state.known[source] | self.own[source] | self.waits[source]

    def wait(self, state: State, flag: FlagKey, target: int, op: Signal | None) -> None:
        carried = state.flags.pop(flag, 0) & ~state.stale
        if flag >= 0:
            self.forget(1 << flag, state)
            if target == self.scalar:
                carried |= 1 << flag
        self.learn(target, carried, op, state)

    def barrier(self, state: State, pipes: Sequence[int], op: SyncOp | None) -> None:
        for pipe in pipes:
            self.learn_on(pipe, -1 if len(pipes) > 1 else self.own[pipe], op, state)

    def enter(self, state: State, runs: Sequence[EarlierRun]) -> None:
        """What was done so far was done before this run of the loop."""
        self.entered()
        state.settle()
        for run in runs:
            state.known = [_with(bits, run) for bits in state.known]
            state.flags = {flag: _with(bits, run) for flag, bits in state.flags.items()}

    def passing(self, state: State, point: Point) -> None:
        self.passed(state, point)

    def learn(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """What the scalar unit waits for holds back everything issued after."""
        for each in range(len(state.known)) if pipe == self.scalar else (pipe,):
            self.learn_on(each, bits, op, state)

    def learn_on(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        if self.reporting:
            self.learned(pipe, bits, op, state)
        state.known[pipe] |= bits


def _with(bits: int, run: EarlierRun) -> int:
    return bits & ~(1 << run.bit) | (bits >> run.instance.bit & 1) << run.bit
