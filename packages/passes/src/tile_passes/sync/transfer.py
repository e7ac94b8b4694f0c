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
    """Sets of bits as rows of one number: what each pipe knows, then what each flag carries, zero
    unless it is `raised`. What holds for all of them at once is then one operation."""

    __slots__ = ("raised", "rows")

    def __init__(self, rows: int, raised: int) -> None:
        self.rows = rows
        self.raised = raised

    def copy(self) -> State:
        return State(self.rows, self.raised)

    def met(self, other: State) -> State:
        """What holds in both; the state itself if all of it does."""
        rows, raised = self.rows & other.rows, self.raised & other.raised
        return self if rows == self.rows and raised == self.raised else State(rows, raised)


class Transfer:
    """The changes themselves. `own` has the instances of each pipe as bits, `waits` its waits: what
    a flag set by the pipe carries along. Bits from `first_wait` on are those of `planned` flags,
    behind which those of the user are numbered.

    Subclasses say what to do at an instance that is not ordered after all it conflicts with, and,
    while `reporting`, where a flag is set and where a pipe learns of other work.
    """

    def __init__(
        self,
        index: Mapping[Pipe, int],
        own: Sequence[int],
        first_wait: int,
        planned: int,
        of_user: int,
    ) -> None:
        self.index, self.own = index, own
        self.scalar = index[Pipe.S]
        self.waits = [0] * len(own)
        self.reporting = False
        self.first_wait, self.planned = first_wait, planned
        self.width = first_wait + planned
        self.full = (1 << self.width) - 1
        rows = len(own) + planned + of_user
        # The first bit of every row, and all that a bit leaves when it is forgotten.
        self.column = sum(1 << row * self.width for row in range(rows))
        self.others = [~(self.column << bit) for bit in range(self.width)]

    def at_entry(self) -> State:
        """What was never executed is complete."""
        return State((1 << len(self.own) * self.width) - 1, 0)

    def known(self, state: State, pipe: int) -> int:
        """What a pipe knows."""
        return state.rows >> pipe * self.width & self.full

    def number(self, flag: FlagKey) -> int:
        """The number of a flag among all there are."""
        return flag - self.first_wait if flag >= 0 else self.planned + ~flag

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

    def access(self, state: State, instance: Instance, pipe: int, must: int) -> None:
        if must:
            if self.reporting:
                self.accessed(pipe, must, state)
            if need := must & ~(state.rows >> pipe * self.width):
                self.uncovered(instance, need, state)
        # All else was true of earlier executions only.
        state.rows &= self.others[instance.bit]

    def set(self, state: State, flag: FlagKey, source: int, op: Signal | None) -> None:
        if self.reporting and op is not None:
            self.flag_set(flag, op, source, state)
        number = self.number(flag)
        at = (len(self.own) + number) * self.width
        carried = self.known(state, source) | self.own[source] | self.waits[source]
        state.rows = state.rows & ~(self.full << at) | carried << at
        state.raised |= 1 << number

    def wait(self, state: State, flag: FlagKey, target: int, op: Signal | None) -> None:
        number = self.number(flag)
        at = (len(self.own) + number) * self.width
        carried = state.rows >> at & self.full
        state.rows &= ~(self.full << at)
        state.raised &= ~(1 << number)
        if flag >= 0:
            state.rows &= self.others[flag]
            if target == self.scalar:
                carried |= 1 << flag
        self.learn(target, carried, op, state)

    def barrier(self, state: State, pipes: Sequence[int], op: SyncOp | None) -> None:
        for pipe in pipes:
            self.learn_on(pipe, self.full if len(pipes) > 1 else self.own[pipe], op, state)

    def enter(self, state: State, runs: Sequence[EarlierRun]) -> None:
        """What was done so far was done before this run of the loop."""
        self.entered()
        for run in runs:
            done = state.rows >> run.instance.bit & self.column
            state.rows = state.rows & self.others[run.bit] | done << run.bit

    def passing(self, state: State, point: Point) -> None:
        self.passed(state, point)

    def learn(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """What the scalar unit waits for holds back everything issued after."""
        for each in range(len(self.own)) if pipe == self.scalar else (pipe,):
            self.learn_on(each, bits, op, state)

    def learn_on(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        if self.reporting:
            self.learned(pipe, bits, op, state)
        state.rows |= bits << pipe * self.width
