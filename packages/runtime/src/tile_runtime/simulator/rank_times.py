"""What a timed launch over several ranks looked like: each rank, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tile_runtime.simulator.timeline import Timeline


@dataclass(frozen=True, slots=True)
class LinkTime:
    """What went from one rank to another over one link: bytes of transfers, on a ring also of those
    that go further; signals to the target; and the microseconds in which bytes were under way."""

    bytes: int
    signals: int
    busy_microseconds: float


@dataclass(frozen=True)
class RankTimes:
    """Modelled times of a launch over ranks. `timelines` has each rank by itself, with blocks
    counted from 0; `whole` has all of them, rank r's block b as block r * N + b."""

    whole: Timeline
    timelines: tuple[Timeline, ...]
    links: dict[tuple[int, int], LinkTime]
    microseconds_without_links: float

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
        return tuple(each.microseconds for each in self.timelines)

    @property
    def exposed_microseconds(self) -> float:
        """How much longer the launch takes than one between whose ranks nothing takes time:
        communication that no other work hides."""
        return self.microseconds - self.microseconds_without_links


def rank_times_from(
    whole: Timeline,
    ranks: Sequence[tuple[int, int, dict[str, float]]],
    links: Sequence[tuple[int, int, int, int, float]],
    cycles_without_links: float,
) -> RankTimes:
    """The times out of what the simulator hands over."""
    ends = [*((event, access) for event, access, _ in ranks[1:])]
    ends.append((len(whole.events), len(whole.accesses)))
    found = {
        (source, target): LinkTime(moved, signals, busy / whole.mhz)
        for source, target, moved, signals, busy in links
    }
    timelines = tuple(
        _of_rank(whole, rank, slice(first[0], end[0]), slice(first[1], end[1]), first[2])
        for rank, (first, end) in enumerate(zip(ranks, ends, strict=True))
    )
    return RankTimes(whole, timelines, found, cycles_without_links / whole.mhz)


def _of_rank(
    whole: Timeline, rank: int, events: slice, accesses: slice, totals: dict[str, float]
) -> Timeline:
    """One rank's part. What another rank caused has no cause in it."""
    own = whole.events[events].copy()
    if len(own):
        own["block"] -= own["block"].min()
        cause = own["cause"] - events.start
        own["cause"] = np.where((cause >= 0) & (cause < len(own)), cause, -1)
    touched = whole.accesses[accesses].copy()
    touched["event"] -= np.uint32(events.start)
    return replace(whole, totals=totals, events=own, accesses=touched)
