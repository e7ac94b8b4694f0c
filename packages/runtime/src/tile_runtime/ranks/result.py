"""The result of a launch over ranks: what was found on each, and with a clock the times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, fields
from typing import TypeAlias

from tile_ir import Diagnostic
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.ranks.result_html import findings_html, page_html, times_html
from tile_runtime.simulator.rank_tables import tables_text
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.simulation_error import SimulationError

Findings: TypeAlias = tuple[tuple[Diagnostic, ...], ...]


@dataclass(frozen=True)
class RankRun:
    """A launch over ranks. `findings` has the errors and warnings of each rank; where ranks are
    processes, `own` is the rank of this one, and the findings of others are not known."""

    findings: Findings
    own: int | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<{self.headline()}>"

    def __str__(self) -> str:
        told = (f"rank {rank}: {found}" for rank, found in self._told())
        return "\n".join([self.headline(), *told])

    def _repr_html_(self) -> str:
        return page_html(self.headline(), findings_html(self.findings))

    def headline(self) -> str:
        """How many ranks, or which of them, and how many findings."""
        found = sum(map(len, self.findings))
        what = f"{found} finding{'s' if found > 1 else ''}" if found else "no findings"
        ranks = len(self.findings)
        if self.own is not None:
            return f"rank {self.own} of {ranks}, {what}"
        return f"{ranks} rank{'s' if ranks > 1 else ''}, {what}"

    def _told(self) -> Iterator[tuple[int, str]]:
        for rank, found in enumerate(self.findings):
            yield from ((rank, each.render().partition("\n")[0]) for each in found)


@dataclass(frozen=True)
class TimedRankRun(RankRun, RankTimes):
    """The same of a launch with a clock, with its times."""

    __repr__ = RankRun.__repr__

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{tables_text(self)}"

    def _repr_html_(self) -> str:
        return page_html(self.headline(), findings_html(self.findings), times_html(self))

    def headline(self) -> str:
        """Ranks, findings and times."""
        return f"{super().headline()}; {self.times_text()}"


def findings_of(error: SimulationError) -> Iterator[tuple[int, Diagnostic]]:
    """The findings of a launch that failed, each with its rank."""
    return ((each.fault.rank, each.diagnostic) for each in (error, *error.others))


def result_of(
    count: int,
    found: Iterable[tuple[int, Diagnostic]],
    times: RankTimes | None = None,
    own: int | None = None,
) -> RankRun:
    """The result of a launch over so many ranks with these findings, each with its rank: -1 is that
    of a launch on one device. With `own`, all are those of this rank."""
    each = [(max(rank, 0) if own is None else own, d) for rank, d in found]
    findings = tuple(tuple(d for rank, d in each if rank == at) for at in range(count))
    if times is None:
        return RankRun(findings, own=own)
    known = {f.name: getattr(times, f.name) for f in fields(times)}
    return TimedRankRun(findings=findings, **known)
