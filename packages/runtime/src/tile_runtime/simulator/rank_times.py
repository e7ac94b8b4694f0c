"""The times of a launch over several ranks: of all together, of each, and of the links between
them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.simulator.rank_overlap import RankOverlap, rank_overlap, transfer_ends
from tile_runtime.simulator.timeline import REASONS, Timeline

_OTHER_RANK = REASONS.index("other rank")


@dataclass(frozen=True, slots=True)
class LinkTime:
    """The transfers and signals from one rank to another over one link.

    `bytes` counts transfers, on a ring also those that go further, and `signals` those to the
    target. `busy_microseconds` is the time with bytes under way, `least_microseconds` the time of
    the bytes at the link's peak rate."""

    bytes: int
    signals: int
    busy_microseconds: float
    least_microseconds: float = 0.0

    @property
    def share_of_peak(self) -> float:
        """While bytes were under way, a part of one."""
        return self.least_microseconds / self.busy_microseconds if self.busy_microseconds else 0.0


@dataclass(frozen=True, slots=True)
class RankPart:
    """Where the events and accesses of a rank begin in those of all, and its totals."""

    event: int
    access: int
    totals: dict[str, float]


@dataclass(frozen=True)
class RankTimes:
    """Modelled times of a launch over ranks. `whole` is the timeline of all devices together: rank
    r's block b is its block r * `blocks` + b, and it has the cores and HBM of all. `timelines` has
    each rank by itself, with blocks counted from 0."""

    whole: Timeline
    parts: tuple[RankPart, ...]
    blocks: int
    links: dict[tuple[int, int], LinkTime]
    microseconds_without_links: float

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.parts)

    @cached_property
    def timelines(self) -> tuple[Timeline, ...]:
        """Of each rank. An event that another rank caused has no cause there."""
        return tuple(_timeline_of(self, rank) for rank in range(self.ranks))

    @property
    def microseconds(self) -> float:
        """From the start of the first block to the end of the last of any rank."""
        return self.whole.microseconds

    @property
    def task_microseconds(self) -> float:
        """The same with the cost of launching."""
        return self.whole.task_microseconds

    @property
    def rank_microseconds(self) -> tuple[float, ...]:
        """The same of each rank."""
        return tuple(part.totals["cycles"] / self.whole.mhz for part in self.parts)

    @property
    def exposed_microseconds(self) -> float:
        """How much longer the launch takes than one between whose ranks nothing takes time:
        communication that no other work hides."""
        return self.microseconds - self.microseconds_without_links

    @cached_property
    def overlaps(self) -> tuple[RankOverlap, ...]:
        """Of each rank, in cycles."""
        events = self.whole.events
        return tuple(rank_overlap(events, self.blocks, rank) for rank in range(self.ranks))

    @property
    def rank_overlap(self) -> tuple[float | None, ...]:
        """For each rank the part of its communication time that its computation hides."""
        return tuple(each.part for each in self.overlaps)

    @property
    def overlap(self) -> float | None:
        """The same of all ranks together; None if they do not communicate."""
        return _sum_of(self.overlaps).part

    @property
    def rank_wait_microseconds(self) -> tuple[float, ...]:
        """How long the cores of each rank wait for other ranks, as a mean over its cores."""
        return tuple(_waited(each) for each in self.timelines)

    @cached_property
    def bytes_between(self) -> tuple[tuple[int, ...], ...]:
        """Row i, column j has the bytes that transfers moved from rank i to rank j, whatever links
        they took."""
        source, target = transfer_ends(self.whole.events, self.blocks)
        far = source != target
        moved = self.whole.events["bytes"][far].astype(np.int64)
        found = np.zeros((self.ranks, self.ranks), np.int64)
        np.add.at(found, (source[far], target[far]), moved)
        return tuple(map(tuple, found.tolist()))

    def times_text(self) -> str:
        """How long it takes, how long it would without links, and how much of that is hidden."""
        told = f"modelled {self.microseconds:.2f} us, {self.task_microseconds:.2f} us with launch"
        if self.overlap is None:
            return f"{told}; no bytes between ranks"
        without = f"{self.microseconds_without_links:.2f} us if links took no time"
        return f"{told}, {without}; {self.overlap:.0%} of the communication is hidden"


def rank_times_from(
    whole: Timeline,
    ranks: Sequence[tuple[int, int, dict[str, float]]],
    links: Sequence[tuple[int, int, int, int, float, float]],
    cycles_without_links: float,
    blocks: int,
) -> RankTimes:
    """Build the times from the simulator's results."""
    found = {
        (source, target): LinkTime(moved, signals, busy / whole.mhz, least / whole.mhz)
        for source, target, moved, signals, busy, least in links
    }
    parts = tuple(RankPart(*each) for each in ranks)
    without_links = cycles_without_links / whole.mhz
    return RankTimes(whole, parts, blocks, found, without_links)


def machine_of(timeline: Timeline, ranks: int) -> Timeline:
    """The timeline with the cores and the HBM of so many devices."""
    return replace(
        timeline,
        cube_cores=timeline.cube_cores * ranks,
        vector_cores=timeline.vector_cores * ranks,
        hbm_bandwidth=timeline.hbm_bandwidth * ranks,
    )


def _timeline_of(times: RankTimes, rank: int) -> Timeline:
    whole, part = times.whole, times.parts[rank]
    end = times.parts[rank + 1] if rank + 1 < times.ranks else None
    events = slice(part.event, len(whole.events) if end is None else end.event)
    own = whole.events[events].copy()
    own["block"] -= np.uint32(rank * times.blocks)
    cause = own["cause"] - events.start
    own["cause"] = np.where((cause >= 0) & (cause < len(own)), cause, -1)
    touched = whole.accesses[part.access : None if end is None else end.access].copy()
    touched["event"] -= np.uint32(events.start)
    return replace(
        whole,
        totals=part.totals,
        events=own,
        accesses=touched,
        cube_cores=whole.cube_cores // times.ranks,
        vector_cores=whole.vector_cores // times.ranks,
        hbm_bandwidth=whole.hbm_bandwidth / times.ranks,
    )


def _waited(timeline: Timeline) -> float:
    events = timeline.events
    waits = events[events["reason"] == _OTHER_RANK]
    cores = len(np.unique(events["block"].astype(np.int64) * 4 + events["core"]))
    return float(waits["waited"].sum()) / max(cores, 1) / timeline.mhz


def _sum_of(overlaps: Iterable[RankOverlap]) -> RankOverlap:
    rows = [(each.computing, each.communicating, each.both) for each in overlaps]
    return RankOverlap(*(sum(column) for column in zip(*rows, strict=True)))
