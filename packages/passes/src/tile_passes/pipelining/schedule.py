"""Record what was decided about a pipelined loop. Data only."""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir import Buffer, Core, For, Loc
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.clock.loop_timetable import Timetable
from tile_passes.pipelining.dependence_graph import Iteration, Unit
from tile_passes.pipelining.modulo_schedule import Arrangement, as_written

# A pipe that is busy for that part of the interval is never idle.
NEVER_IDLE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Pipelined:
    """A loop as it is written: its units in order and in stages, and how many versions buffers
    have, as each iteration in flight has bytes of its own."""

    iteration: Iteration
    arrangement: Arrangement
    versions: Mapping[Buffer, int]

    @property
    def loop(self) -> For:
        return self.iteration.loop

    @property
    def skewed(self) -> bool:
        return self.arrangement.units != self.iteration.units or self.arrangement.last > 0


@dataclass(frozen=True, slots=True, eq=False)
class Stages(Pipelined):
    """A loop over both kinds of core. `declared`: tensors of the author that have versions."""

    declared: frozenset[Buffer]


@dataclass(frozen=True, slots=True)
class OneStage:
    """Why the statements of a loop stay in one stage, and where that shows."""

    reason: str
    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class Schedule(Pipelined):
    """A loop of one core, with its modelled times, and those in the order of the text. It requires
    `asked` versions of the buffers `handed` from pipe to pipe; `short` are loaded and get less.
    `why` is the reason for the order of the text, if it is kept. `resource_bound` is the pipe that
    is busy longest in an iteration, and for how many cycles."""

    core: Core
    resource_bound: tuple[str, float]
    times: Timetable[Unit]
    text: Timetable[Unit]
    handed: tuple[Buffer, ...]
    asked: int
    short: tuple[Buffer, ...]
    why: str

    def as_written(self, why: str) -> Schedule:
        """The order of the text instead, with the versions that the loop requires."""
        if not self.skewed:
            return self
        versions = {b: min(n, self.asked) for b, n in self.versions.items() if b in self.handed}
        text = as_written(self.iteration)
        return replace(self, arrangement=text, times=self.text, versions=versions, why=why)

    @property
    def saturated(self) -> bool:
        """Whether no order is any faster, as a pipe is never idle."""
        return self.resource_bound[1] >= NEVER_IDLE * self.times.interval

    @property
    def bound(self) -> str:
        """The reason why an iteration does not start any sooner."""
        pipe, cycles = self.resource_bound
        if self.saturated:
            return f"{pipe} is never idle"
        return f"work waits for work, and {pipe} is busy for {cycles:.0f} of them"
