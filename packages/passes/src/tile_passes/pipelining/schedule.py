"""What was decided about a pipelined loop inside one core. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tile_ir import Buffer, Core, For, Pipe, pipe_of, walk_ops
from tile_passes.clock.iteration_work import IterationWork
from tile_passes.clock.loop_timetable import Timetable
from tile_passes.pipelining.modulo_schedule import Arrangement, as_written
from tile_passes.pipelining.round_units import Round, Unit

# A pipe that is busy for that part of the interval is never idle.
NEVER_IDLE = 0.95


@dataclass(frozen=True, slots=True)
class Row:
    """A unit of a new round, in core cycles: `cycle` after the round began, within the interval,
    for `cycles` until its results can be used, by these pipes."""

    unit: Unit
    stage: int
    cycle: float
    cycles: float
    pipes: tuple[Pipe, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """One pipelined loop of one core: in which order a new round has the statements, how many
    rounds each is behind, and when what is done, in modelled core cycles; `text`: in the order of
    the text. `work`: of a round. `versions` of buffers, of which the loop asks for `asked` of those
    that are `handed` from pipe to pipe; `short` are those that are loaded and get less. `why` the
    text stays as it is, where it does."""

    loop: For
    core: Core
    round: Round
    arrangement: Arrangement
    times: Timetable[Unit]
    text: Timetable[Unit]
    work: IterationWork[Unit]
    versions: Mapping[Buffer, int]
    handed: tuple[Buffer, ...]
    asked: int
    short: tuple[Buffer, ...]
    why: str

    @property
    def skewed(self) -> bool:
        return self.arrangement.units != self.round.units or self.arrangement.last > 0

    def as_written(self, why: str) -> Schedule:
        """The order of the text instead, with the versions that the loop asks for."""
        if not self.skewed:
            return self
        versions = {b: min(n, self.asked) for b, n in self.versions.items() if b in self.handed}
        return replace(
            self, arrangement=as_written(self.round), times=self.text, versions=versions, why=why
        )

    @property
    def saturated(self) -> bool:
        """Whether no order is any faster, as a pipe is never idle."""
        return self.work.busiest[1] >= NEVER_IDLE * self.times.interval

    @property
    def rows(self) -> list[Row]:
        """The units in the order of a new round."""
        starts, ends = self.times.starts, self.times.ends
        first = min(starts.values(), default=0.0)
        return [
            Row(
                unit,
                self.arrangement.stage[unit],
                (starts[unit] - first) % self.times.interval if self.times.interval else 0.0,
                ends[unit] - starts[unit],
                tuple(dict.fromkeys(pipe_of(op) for op in walk_ops(unit.stmts))) or (Pipe.S,),
            )
            for unit in self.arrangement.units
        ]

    @property
    def bound(self) -> str:
        """What keeps a round from beginning any sooner."""
        pipe, cycles = self.work.busiest
        if self.saturated:
            return f"{pipe.value} is never idle"
        return f"work waits for work, and {pipe.value} is busy for {cycles:.0f} of them"


__all__ = ["Schedule"]
