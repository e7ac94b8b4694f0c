"""Time a pipelined loop: its units in some order, each some iterations behind.

Pipes take instructions in the order of the text. The scalar unit issues them, and waits where it
reads an element. Flags cost nothing here; they only delay instructions that need a result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeAlias

from tile_ir import Buffer, Pipe
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.iteration_work import BoxAccess, Instruction, IterationWork, Unit
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS, PipeClock

# Iterations that are run before the loop drains, and after how many of them the interval is taken
# from the rest.
RUN, SETTLED = 10, 5
# Accesses to the bytes of a buffer that are looked back at.
MOST_USES = 8


class Timetable(Generic[Unit]):
    """Core cycles of a loop with its units in this order, each as many iterations behind as its
    stage says. The first read of a time runs the loop."""

    def __init__(
        self,
        work: IterationWork[Unit],
        order: Sequence[Unit],
        stage: Mapping[Unit, int],
        versions: Mapping[Buffer, int],
        trips: int | None,
    ) -> None:
        self._work, self._order, self._stage, self._versions = work, order, stage, versions
        self._trips = ASSUMED_ITERATIONS if trips is None else trips

    @property
    def interval(self) -> float:
        """From the end of one iteration to the end of the next."""
        return self._run.interval

    @property
    def whole(self) -> float:
        """From the start of the loop to its end."""
        return self._run.whole

    @property
    def starts(self) -> Mapping[Unit, float]:
        """When each unit of an iteration from the middle starts."""
        return self._run.starts

    @property
    def ends(self) -> Mapping[Unit, float]:
        """When its results can be used."""
        return self._run.ends

    @cached_property
    def _run(self) -> _Timetable[Unit]:
        behind = max(self._stage.values(), default=0)
        run = max(1, min(self._trips, RUN + behind))
        clock = _CoreClock(self._versions)
        ends = [0.0] * run
        middle = min(SETTLED, run - 1)
        starts: dict[Unit, float] = {}
        lasts: dict[Unit, float] = {}
        order = [(unit, self._stage[unit]) for unit in self._order]
        for number in range(run + behind):
            for unit, stage in order:
                at = number - stage
                if 0 <= at < run:
                    start, end = clock.unit(self._work.of(unit, at), at)
                    if end > ends[at]:
                        ends[at] = end
                    if at == middle:
                        starts[unit], lasts[unit] = start, end
        # While the loop drains no iteration starts any more, so their ends lie closer together.
        last = max(run - 1 - behind, min(run - 1, middle + 1))
        interval = (ends[last] - ends[middle]) / (last - middle) if last > middle else max(ends)
        whole = max(ends) + (self._trips - run) * interval if self._trips else 0.0
        return _Timetable(interval, whole, starts, lasts)


def spans(works: Sequence[Instruction]) -> list[tuple[float, float]]:
    """Start and end of each of these instructions, where they run by themselves."""
    clock = _CoreClock({})
    return [clock.work(work, 0) for work in works]


@dataclass(frozen=True, slots=True)
class _Timetable(Generic[Unit]):
    interval: float
    whole: float
    starts: Mapping[Unit, float]
    ends: Mapping[Unit, float]


# An access of a pipe until some time, and its number among the instructions of the clock.
_PastAccess: TypeAlias = tuple[BoxAccess, Pipe, float, int]


class _CoreClock:
    """The pipes of one core, and until when the versions of its buffers are in use."""

    def __init__(self, versions: Mapping[Buffer, int]) -> None:
        self.pipes: PipeClock[Pipe] = PipeClock()
        self.used = _Uses(versions)
        # Instructions so far, and those before the last barrier of the vector pipe.
        self.number = self.barrier = 0

    def unit(self, works: Sequence[Instruction], iteration: int) -> tuple[float, float]:
        """Run the instructions of a unit in an iteration; return their start and end."""
        if len(works) == 1:  # nearly always
            return self.work(works[0], iteration)
        times = [self.work(work, iteration) for work in works]
        if not times:
            return self.pipes.free[Pipe.S], self.pipes.free[Pipe.S]
        return min(start for start, _ in times), max(done for _, done in times)

    def work(self, work: Instruction, iteration: int) -> tuple[float, float]:
        """Run one instruction. Most of the time of all timetables goes here."""
        pipe, cost, touches, times = work
        pipes, free, vector = self.pipes, self.pipes.free, pipe is Pipe.V
        # What is over before the pipe, and who issues to it, are free delays nothing.
        ready, issues, entries = free[pipe], free[Pipe.S], cost.entries
        if issues > ready:
            ready = issues
        slots = []
        for touch in touches:
            versions = self.used[touch[0]]
            uses = versions[iteration % len(versions)]
            slots.append(uses)
            for other, by, until, number in uses:
                if by is not pipe:
                    if until > ready and touch.meets(other):
                        ready = until
                # A pipe waits for its own results on the vector pipe only: elsewhere they are in
                # order.
                elif vector and number > self.barrier and other.writes and touch.meets(other):
                    wait = max(0.0, pipes.done[pipe] - free[pipe])
                    ready = max(ready, free[pipe] + wait * max(1.0, times))
                    self.barrier = self.number
                    entries += max(1.0, times)  # a barrier stands in the queue
        self.number += 1
        if pipe is Pipe.S:
            start, done = pipes.run(pipe, cost, ready)
        else:
            start, done = pipes.issue(pipe, cost, ready, Pipe.S, entries)
        for touch, uses in zip(touches, slots, strict=True):
            uses.append((touch, pipe, done, self.number))
        return start, done


class _Uses(dict[Buffer, list[deque[_PastAccess]]]):
    """The past accesses to each version of a buffer, listed when it is touched first."""

    def __init__(self, versions: Mapping[Buffer, int]) -> None:
        self.versions = versions

    def __missing__(self, buffer: Buffer) -> list[deque[_PastAccess]]:
        count = self.versions.get(buffer, 1)
        found: list[deque[_PastAccess]] = [deque(maxlen=MOST_USES) for _ in range(count)]
        self[buffer] = found
        return found
