"""Compute which work of other cores each core knows to be complete, under some signals.

The same forward must-analysis as inside a core (`worklist`), with a lane for each core. What a core
completes itself does not depend on signals: `_OwnWork` computes first what is complete when a pipe
is, by way of the bytes on the chip that its work needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tile_ir import Core, For, Pipe
from tile_ir.analysis import Ranges
from tile_passes.order.core_blocks import CORES, Access, Block
from tile_passes.order.core_dependences import Dependence
from tile_passes.order.core_flow_graph import (
    Age,
    CoreFlow,
    Give,
    LeafRun,
    Meet,
    Take,
    core_flow_graph,
)
from tile_passes.order.counters import Signal
from tile_passes.order.worklist import Dataflow, State

# Accesses of a buffer on the chip: of one core, that write or read, all of them, those of the whole
# buffer or those of one region, in one iteration of the loops that move it.
_Group: TypeAlias = "tuple[object, ...]"


def core_flow(
    root: Block, signals: Sequence[Signal], dependences: Sequence[Dependence], known: Ranges
) -> CoreFlow:
    """Build the flow graph of a kernel, with what each signal tells of the work of its source."""
    flow = core_flow_graph(root, signals, dependences, known)
    own = _OwnWork(flow)
    own.solve_from(State(own.lane * own.each, {}))
    own.report()
    return flow


class _Aging(Dataflow):
    """An analysis whose facts grow older; lanes are packed into one number."""

    def __init__(self, flow: CoreFlow, lanes: int) -> None:
        super().__init__(flow.successors)
        self.flow, self.steps = flow, list(flow.steps)
        self.lane = (1 << flow.width) - 1
        self.each = sum(1 << lane * flow.width for lane in range(lanes))
        self.ages: dict[Block, tuple[int, int, int]] = {}

    def older(self, bits: int, step: Age, each: int) -> int:
        """Return the facts of each lane in the next iteration of a loop, or in a new run of it."""
        if step.loop not in self.ages:
            now = before = moved = 0
            for (leaf, core, loop), first in self.flow.first.items():
                if loop is step.loop:
                    oldest = self.flow.oldest[leaf, core, loop]
                    now |= 1 << first
                    before |= (oldest > 0) << first + 1
                    moved |= sum(1 << first + age for age in range(1, oldest))
            self.ages[step.loop] = now, before, moved
        now, before, moved = (mask * each for mask in self.ages[step.loop])
        if step.first:
            return bits | now | before | moved << 1
        was = bits & before & (bits & now) << 1
        return bits & ~(before | moved << 1) | was | now | (bits & moved) << 1


class _OwnWork(_Aging):
    """What is complete when the work of a pipe so far is, and when a group of accesses is. The last
    lane holds what was never done, which is complete whatever happens."""

    def __init__(self, flow: CoreFlow) -> None:
        self.numbers: dict[_Group, int] = {}
        # The groups whose regions a loop moves.
        self.moved: dict[object, list[int]] = {}
        runs = (s for steps in flow.steps for s in steps if isinstance(s, LeafRun))
        self.chip = {
            (leaf, core): [(self.number((core, a.pipe)), *self.groups(a, core)) for a in leaf.chip]
            for leaf, core, *_ in runs
        }
        for core in CORES:
            for pipe in Pipe:
                self.number((core, pipe))
        super().__init__(flow, len(self.numbers) + 1)

    def number(self, group: _Group) -> int:
        return self.numbers.setdefault(group, len(self.numbers))

    def groups(self, access: Access, core: Core) -> tuple[list[int], list[int]]:
        """Return the groups that an access comes after, and those that it is in."""
        buffer = access.region.buffer
        own = id(access.region)
        ways = (True, False) if access.writes else (True,)
        met = ("all",) if access.whole else ("whole", own)
        its = ("all", "whole") if access.whole else ("all", own)
        after = [self.number((core, buffer, way, part)) for way in ways for part in met]
        among = [self.number((core, buffer, access.writes, part)) for part in its]
        if not access.whole:
            for way in (True, False):
                for v in access.variables:
                    self.moved.setdefault(v, []).append(self.number((core, buffer, way, own)))
        return after, among

    def run(self, number: int, state: State) -> None:
        width, lane = self.flow.width, self.lane
        for place, step in enumerate(self.steps[number]):
            match step:
                case LeafRun(leaf=leaf, core=core, bits=bits):
                    known = state.known & ~(bits * self.each)
                    lanes = self.chip[leaf, core]
                    for _, after, _ in lanes:
                        for group in after:
                            bits |= known >> group * width & lane
                    for pipe, _, among in lanes:
                        told = bits | known >> pipe * width & lane
                        for group in among:
                            known |= told << group * width
                    # The scalar unit is done when the next instruction is issued.
                    pipes = Pipe if Pipe.S in leaf.pipes else leaf.pipes
                    for each in pipes:
                        known |= bits << self.numbers[core, each] * width
                    state.known = known
                case Give(signal=s) if self.reporting:
                    at = self.numbers[s.source, s.pipe] * width
                    self.flow.complete[number, place] = state.known >> at & lane
                case Age():
                    known = self.older(state.known, step, self.each)
                    stmt = step.loop.around
                    if isinstance(stmt, For):
                        never = known >> len(self.numbers) * width
                        for group in self.moved.get(stmt.var, ()):
                            at = group * width
                            known = known & ~(lane << at) | never << at
                    state.known = known


class Told(_Aging):
    """What the cores know with these signals, and what signals that are set and not yet awaited
    tell: a counter holds them in a row. `missing` is a dependence that is not ordered."""

    def __init__(self, flow: CoreFlow, signals: Sequence[Signal]) -> None:
        super().__init__(flow, len(CORES))
        self.signals = frozenset(signals)
        self.at_lane = {core: n * flow.width for n, core in enumerate(CORES)}
        room = 2 + max((s.ahead for s in flow.signals), default=0)
        self.flags = {s: n * room for n, s in enumerate(flow.signals)}
        self.missing: Dependence | None = None

    def solved(self) -> Told:
        self.solve_from(State(self.lane * self.each, {}))
        return self

    def run(self, number: int, state: State) -> None:
        flags = state.flags
        for place, step in enumerate(self.steps[number]):
            match step:
                case LeafRun(core=core, bits=bits, wanted=wanted):
                    known = state.known >> self.at_lane[core]
                    for d, fact in wanted:
                        if fact & ~known:
                            self.missing = self.missing or d
                    if bits:
                        state.known &= ~(bits * self.each)
                        for flag in flags:
                            flags[flag] &= ~bits
                case Give(signal=s):
                    if s in self.signals:
                        self.give(s, self.flow.complete[number, place], state)
                case Take(signal=s):
                    if s in self.signals:
                        self.take(step, state)
                case Age():
                    state.known = self.older(state.known, step, self.each)
                    for flag, bits in flags.items():
                        flags[flag] = self.older(bits, step, 1)
                case Meet():
                    state.known = self.lane * self.each

    def give(self, signal: Signal, complete: int, state: State) -> None:
        """Add a signal to its counter."""
        flag = self.flags[signal]
        while flag in state.flags:
            flag += 1
        known = state.known >> self.at_lane[signal.source] & self.lane
        state.flags[flag] = known | complete

    def take(self, step: Take, state: State) -> None:
        """Take the first signal from its counter."""
        signal, covered = step
        flag, at, flags = self.flags[signal], self.at_lane[signal.sink], state.flags
        told = flags.pop(flag, 0)
        while flag + 1 in flags:
            flags[flag] = flags.pop(flag + 1)
            flag += 1
        if self.learns(signal, told & ~(state.known >> at), covered):
            state.known |= told << at

    def learns(self, signal: Signal, fresh: int, covered: int) -> bool:
        """Return whether the sink takes in what a signal tells."""
        return True


class Telling(Told):
    """The signals that tell something new of what they are there for; any other one is taken for
    not there."""

    def __init__(self, flow: CoreFlow, signals: Sequence[Signal]) -> None:
        super().__init__(flow, signals)
        self.found: set[Signal] = set()

    def learns(self, signal: Signal, fresh: int, covered: int) -> bool:
        if fresh & covered:
            self.found.add(signal)
        return signal in self.found


def telling(flow: CoreFlow) -> set[Signal]:
    """Return the signals of a flow that tell something new, in the order of the text."""
    analysis = Telling(flow, flow.signals)
    analysis.solved()
    return analysis.found


def unordered(flow: CoreFlow, signals: Sequence[Signal]) -> Dependence | None:
    """Return a dependence that the signals do not order, if there is one."""
    return Told(flow, signals).solved().missing


__all__ = ["CoreFlow", "core_flow", "telling", "unordered"]
