"""What each pipe surely knows to be complete, at every point of a section, under a given plan.

A forward must-dataflow in worklist form over sets of bits. A bit stands for an instance: all its
executions so far are complete before whatever the pipe does next; what was never executed is
complete. Facts meet where control flow joins. A wait has a bit too: its flag may be set again only
by a pipe that knows the wait is over (docs/hardware/flags.md#flags). Needs: control flow, conflicts
and a plan, which it never changes. Gives: what is not ordered, and more to those that ask.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeAlias

from tile_ir import Effect, Op
from tile_ir.machine import Pipe
from tile_ir.opdef import pipe_of
from tile_passes.sync.control_flow import (
    BasicBlock,
    Break,
    Enter,
    Existing,
    Exit,
    Gap,
    Passed,
    control_flow,
)
from tile_passes.sync.sync_ops import Action, Barrier, Do, Flag, Plan, PointToPoint, Signal, SyncOp
from tile_passes.sync.tree import Block, EarlierRun, Instance, Repeat, Residues, Tree

Point: TypeAlias = tuple[Block, int, Residues]
# The bit of its wait for a flag of the plan; a negative number for one of the user's.
FlagKey: TypeAlias = int
# A method that changes a state, and its further arguments.
Effects: TypeAlias = tuple[Any, ...]


class State:
    """`known` holds a set of bits for each pipe, `flags` what each raised flag carries."""

    __slots__ = ("flags", "known")

    def __init__(self, known: list[int], flags: dict[FlagKey, int]) -> None:
        self.known = known
        self.flags = flags

    def copy(self) -> State:
        return State(self.known.copy(), self.flags.copy())

    def meet(self, other: State) -> bool:
        """Keep only what holds in both; whether that is less than before."""
        known = [a & b for a, b in zip(self.known, other.known, strict=True)]
        flags = {k: v & other.flags[k] for k, v in self.flags.items() if k in other.flags}
        less = known != self.known or flags != self.flags
        self.known, self.flags = known, flags
        return less


@dataclass(frozen=True, slots=True)
class Flow:
    """A section as the analysis needs it, whatever the plan."""

    tree: Tree
    conflicts: Sequence[int]
    blocks: Sequence[BasicBlock]
    earlier_runs: dict[Repeat, list[EarlierRun]]


def flow_of(tree: Tree, conflicts: Sequence[int]) -> Flow:
    earlier: dict[Repeat, list[EarlierRun]] = {}
    for run in tree.runs:
        earlier.setdefault(run.loop, []).append(run)
    return Flow(tree, conflicts, control_flow(tree), earlier)


class Completion:
    """The analysis under one plan. Subclasses say what to do at an instance that is not ordered
    after all it conflicts with, where a flag is set, and where a pipe learns of other work.

    `solve` finds the state at the entry of every basic block; `report` then runs each block once in
    its final state, with `reporting` set.
    """

    # Whether `passed` is to be called.
    watches_points = False

    def __init__(self, flow: Flow, plan: Plan) -> None:
        self.flow, self.tree, self.plan = flow, flow.tree, plan
        pipes = self.tree.pipes
        self.index = {pipe: i for i, pipe in enumerate(pipes)}
        self.scalar = self.index[Pipe.S]
        self.own = [self.tree.masks[pipe] for pipe in pipes]
        self.first_bit: dict[Signal, int] = {}
        # The waits of each pipe, as bits: what a flag set by the pipe carries along.
        self.waits = [0] * len(pipes)
        bit = self.tree.free_bit()
        for op in plan.signals:
            self.first_bit[op] = bit
            self.waits[self.index[op.target]] |= ((1 << op.slots) - 1) << bit
            bit += op.slots
        # The flags of the user, by pipes and event id.
        self.user_flags: dict[tuple[int, int, int], FlagKey] = {}
        self.reporting = False
        # What somebody waits for: of the rest nobody needs to know whether it is complete.
        self.awaited = reduce(or_, flow.conflicts, 0)
        for run in self.tree.runs:
            self.awaited |= (self.awaited >> run.bit & 1) << run.instance.bit
        self.effects = [list(self.compiled(block)) for block in flow.blocks]
        self.entries: list[State | None] = []

    def bits_of(self, op: Signal) -> int:
        """The waits of an op."""
        return ((1 << op.slots) - 1) << self.first_bit[op]

    def solve(self) -> None:
        self.entries = [None] * len(self.flow.blocks)
        self.entries[0] = State([-1] * len(self.own), {})
        worklist = [0]
        while worklist:
            number = heapq.heappop(worklist)
            while worklist and worklist[0] == number:
                heapq.heappop(worklist)
            entry = self.entries[number]
            assert entry is not None, "only what is reached is on the list"
            state = entry.copy()
            self.run(number, state)
            for successor in self.flow.blocks[number].successors:
                known = self.entries[successor]
                if known is None:
                    self.entries[successor] = state.copy()
                elif not known.meet(state):
                    continue
                heapq.heappush(worklist, successor)

    def report(self) -> None:
        self.reporting = True
        for number, entry in enumerate(self.entries):
            if entry is not None:
                self.run(number, entry.copy())

    # What subclasses may say ---------------------------------------------------------------------

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        """The instance is not ordered after those of `need`."""

    def accessed(self, pipe: int, must: int, state: State) -> None:
        """Called before an instance that must come after others has its effect."""

    def flag_set(self, flag: int, op: Signal, source: int, state: State) -> None:
        """Called before every set of a sync op."""

    def learned(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """Called before a pipe learns these bits, by an op of the plan or else by the user's."""

    def passed(self, state: State, point: Point) -> None:
        """Called behind every item."""

    # The transfer function -----------------------------------------------------------------------

    def run(self, number: int, state: State) -> None:
        """The effect of one basic block on the state at its entry."""
        for effect, *operands in self.effects[number]:
            effect(state, *operands)

    def access(
        self, state: State, instance: Instance, pipe: int, must: int, others: int
    ) -> None:
        if must:
            if self.reporting:
                self.accessed(pipe, must, state)
            if need := must & ~state.known[pipe]:
                self.uncovered(instance, need, state)
        self.forget(others, state)

    def forget(self, others: int, state: State) -> None:
        """All but these bits were true of earlier executions only."""
        state.known = [bits & others for bits in state.known]
        for flag, bits in state.flags.items():
            state.flags[flag] = bits & others

    def set(self, state: State, flag: FlagKey, source: int, op: Signal | None) -> None:
        if self.reporting and op is not None and flag >= 0:
            self.flag_set(flag, op, source, state)
        state.flags[flag] = state.known[source] | self.own[source] | self.waits[source]

    def wait(self, state: State, flag: FlagKey, target: int, op: Signal | None) -> None:
        carried = state.flags.pop(flag, 0)
        if flag >= 0:
            self.forget(~(1 << flag), state)
            if target == self.scalar:
                carried |= 1 << flag
        self.learn(target, carried, op, state)

    def barrier(self, state: State, pipes: Sequence[int], op: SyncOp | None) -> None:
        for pipe in pipes:
            self.learn_on(pipe, -1 if len(pipes) > 1 else self.own[pipe], op, state)

    def enter(self, state: State, runs: Sequence[EarlierRun]) -> None:
        """What was done so far was done before this run of the loop."""
        for run in runs:
            state.known = [_with(bits, run) for bits in state.known]
            state.flags = {flag: _with(bits, run) for flag, bits in state.flags.items()}

    def learn(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        """What the scalar unit waits for holds back everything issued after."""
        for each in range(len(state.known)) if pipe == self.scalar else (pipe,):
            self.learn_on(each, bits, op, state)

    def learn_on(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        if self.reporting:
            self.learned(pipe, bits, op, state)
        state.known[pipe] |= bits

    # From steps and a plan to effects ------------------------------------------------------------

    def compiled(self, block: BasicBlock) -> Iterator[Effects]:
        for step in block.steps:
            match step:
                case Instance():
                    pipe = self.index[step.item.pipe]
                    must = self.flow.conflicts[step.bit]
                    if step.item.in_order or pipe == self.scalar:
                        must &= ~self.own[pipe]
                    if must or self.awaited >> step.bit & 1:
                        yield self.access, step, pipe, must, ~(1 << step.bit)
                case Gap(block=around, position=position, behind=behind, turn=turn):
                    standing = self.plan.after if behind else self.plan.before
                    yield from self.actions(standing(around, position), turn)
                case Existing():
                    yield from self.existing(step)
                case Passed() if self.watches_points:
                    yield self.passed, (step.block, step.position, step.residues)
                case Enter(loop=loop, residue=first):
                    yield self.enter, self.flow.earlier_runs.get(loop, ())
                    yield from self.rounds(loop, first, Do.SET)
                case Exit(loop=loop, residue=first):
                    yield from self.rounds(loop, first, Do.WAIT)
                case Break(leave=leave, turn=turn):
                    yield from self.actions(self.plan.at_break(leave), turn)

    def rounds(self, loop: Repeat, first: int, do: Do) -> Iterator[Effects]:
        """What is raised before a loop and taken back after it, of flags whose rounds matter."""
        for flag in self.plan.by_round.get(loop, ()):
            for t in range(flag.distance):
                yield self.signal(flag, (first + t) % flag.slots, do)

    def actions(self, actions: Iterable[Action], turn: int) -> Iterator[Effects]:
        for do, op in actions:
            match op:
                case Barrier(pipe=Pipe.ALL):
                    yield self.barrier, range(len(self.own)), op
                case Barrier(pipe=pipe):
                    yield self.barrier, (self.index[pipe],), op
                case PointToPoint():
                    yield self.signal(op, 0, Do.SET)
                    yield self.signal(op, 0, Do.WAIT)
                case Flag(slots=slots) if do in (Do.PRIME, Do.DRAIN):
                    sets = Do.SET if do is Do.PRIME else Do.WAIT
                    for slot in range(slots):
                        yield self.signal(op, slot, sets)
                case Flag(slots=slots):
                    ahead = op.distance if do is Do.SET else 0
                    yield self.signal(op, (turn + ahead) % slots, do)

    def signal(self, op: Signal, slot: int, do: Do) -> Effects:
        flag = self.first_bit[op] + slot
        if do is Do.SET:
            return self.set, flag, self.index[op.source], op
        return self.wait, flag, self.index[op.target], op

    def existing(self, step: Existing) -> Iterator[Effects]:
        """A flag or barrier of the user's."""
        op = step.order.stmt
        assert isinstance(op, Op), "flags and barriers are operations"
        match op.opdef.effect:
            case Effect.BARRIER | Effect.SYNC_ALL:
                pipe = pipe_of(op)
                if pipe is Pipe.ALL:
                    yield self.barrier, range(len(self.own)), None
                elif pipe in self.index:
                    yield self.barrier, (self.index[pipe],), None
            case Effect.SET_FLAG | Effect.WAIT_FLAG as effect:
                event = step.order.ids[step.residues]
                if event is None:
                    return
                source, target = (self.index[Pipe(op.attr(e))] for e in ("src_pipe", "dst_pipe"))
                key = self.user_flags.setdefault((source, target, event), ~len(self.user_flags))
                if effect is Effect.SET_FLAG:
                    yield self.set, key, source, None
                else:
                    yield self.wait, key, target, None


def _with(bits: int, run: EarlierRun) -> int:
    return bits & ~(1 << run.bit) | (bits >> run.instance.bit & 1) << run.bit
