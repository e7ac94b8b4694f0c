"""Everything a verdict is read from, taken of a run once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.report.number_text import cut, microseconds
from tile_runtime.tools.report.roofline import Roofline, roofline
from tile_runtime.tools.report.timed_run import Place, TimedRun, place_text
from tile_runtime.tools.report.why.bank_padding import BankConflict, bank_conflicts
from tile_runtime.tools.report.why.core_chains import CoreChains, core_chains
from tile_runtime.tools.report.why.decisive_path import DecisivePath, decisive_path
from tile_runtime.tools.report.why.line_work import LineWork, line_work
from tile_runtime.tools.report.why.pipe_loads import PipeLoad, gm_runs, load_of, pipe_loads

# A line of source in a sentence is cut beyond this.
_LONGEST_TEXT = 60


@dataclass(frozen=True, slots=True)
class OffLine:
    """Transfers some of whose rows do not start on a line of L2. `share` is their share of the
    bytes that a core moves, `size` the mean bytes of a row; `strided` transfers have several rows.
    """

    share: float
    size: float
    strided: bool


@dataclass(frozen=True)
class Measures:
    """A run, and what was measured of it."""

    run: TimedRun

    @cached_property
    def chains(self) -> CoreChains:
        return core_chains(self.run.timeline)

    @cached_property
    def path(self) -> DecisivePath:
        return decisive_path(self.run.timeline, self.chains)

    @cached_property
    def loads(self) -> list[PipeLoad]:
        return pipe_loads(self.run.timeline, self.chains, self.run.soc)

    @cached_property
    def lines(self) -> list[LineWork]:
        return line_work(self.run, self.path)

    @cached_property
    def banks(self) -> list[BankConflict]:
        return bank_conflicts(self.run)

    @cached_property
    def roofline(self) -> Roofline:
        return roofline(self.run)

    @cached_property
    def body(self) -> float:
        """Cycles from the first instruction to the end of the last block."""
        totals = self.run.timeline.totals
        return max(totals["cycles"] - totals["start_cycles"], 1e-9)

    @cached_property
    def off_line(self) -> OffLine:
        moved = sum(load.moved for load in self.loads)
        runs = sum(load.runs for load in self.loads)
        return OffLine(
            sum(load.off_line for load in self.loads) / max(moved, 1),
            moved / max(runs, 1),
            runs > sum(load.count for load in self.loads if load.moved),
        )

    def load_at(self, place: Place, load: PipeLoad) -> PipeLoad:
        """The part of a pipe's load that comes from one line of source."""
        line = self.run.timeline
        mine = np.isin(line.events["block"], self.chains.blocks[self.chains.last])
        keys = line.events["file"].astype(np.int64) << 32 | line.events["line"]
        wanted = [
            key
            for key in np.unique(keys[mine]).tolist()
            if self.run.shown_place(self.run.cpp_place(key >> 32, key & 0xFFFFFFFF)) == place
        ]
        some = mine & np.isin(keys, wanted)
        return load_of(line, self.run.soc, gm_runs(line), some, load.core, load.pipe)

    def decisive(self, pipes: Iterable[tuple[str, str]]) -> float:
        """Share of the critical path that these kinds of core and pipes have."""
        wanted = set(pipes)
        cycles = sum(
            c for key, c in self.path.sums(lambda p: (p.core, p.pipe)).items() if key in wanted
        )
        return cycles / max(self.path.cycles, 1e-9)

    def time(self, cycles: float) -> str:
        return microseconds(cycles / self.run.timeline.mhz)

    def line_text(self, place: Place) -> str:
        """A place with its text, as it stands in a sentence."""
        text = cut(self.run.text_at(place), _LONGEST_TEXT)
        return f"{place_text(place)}" + (f" `{text}`" if text else "")
