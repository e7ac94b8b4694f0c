"""Compute the activity of each rank and of each link over time, as shares of full use.

A share of a rank is that of its cores of one kind; a share of a link is that of its peak rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from tile_runtime.simulator.activity import amount_until, share_of_cores
from tile_runtime.simulator.rank_overlap import transfer_ends
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.timeline import PIPES, REASONS, WORK

CUBE, VECTOR, WAITS, SENDS = "cube", "vector", "waits", "sends"
_OTHER_RANK = REASONS.index("other rank")


@dataclass(frozen=True)
class Activity:
    """The activity of a rank in steps of equal length: `shares` are from 0 to 1. `kind` is "cube",
    "vector", "waits" (for other ranks) or "sends", then to the rank `target`, or to all if -1."""

    rank: int
    kind: str
    target: int
    shares: Any

    @property
    def label(self) -> str:
        """The kind, or the rank that bytes go to."""
        return f"to rank {self.target}" if self.target >= 0 else self.kind


def rank_activities(times: RankTimes, steps: int) -> Iterator[Activity]:
    """For each rank its cube cores, its vector cores, its waits and what it sends, in this order;
    what never happens is left out."""
    events = times.whole.events
    edges = np.linspace(0, shown_cycles(times), steps + 1)
    source, target = transfer_ends(events, times.blocks)
    rank_of = events["block"].astype(np.int64) // times.blocks
    for rank in range(times.ranks):
        own = events[rank_of == rank]
        works = own["kind"] == WORK
        cube, vector = own["core"] == 0, own["core"] > 0
        rows = (
            (CUBE, cube, works & (own["pipe"] == PIPES.index("M"))),
            (VECTOR, vector, works & (own["pipe"] == PIPES.index("V"))),
            (WAITS, cube | vector, own["reason"] == _OTHER_RANK),
        )
        for kind, cores, chosen in rows:
            if chosen.any():
                yield Activity(rank, kind, -1, share_of_cores(own[cores], own[chosen], edges))
        for other in range(times.ranks):
            moves = events[(source == rank) & (target == other) & (rank != other)]
            if len(moves):
                yield Activity(rank, SENDS, other, _of_link(times, (rank, other), moves, edges))


def shown_cycles(times: RankTimes) -> float:
    """Cycles until the last event is complete; that of a launch which would hang is the last that
    happens."""
    return float(times.whole.events["complete"].max(initial=1.0))


def sent_together(activities: Iterable[Activity]) -> Iterator[Activity]:
    """Join all sends of a rank into one activity: the mean over the ranks that it sends to."""
    for (_, kind), group in groupby(activities, lambda each: (each.rank, each.kind)):
        first, *others = group
        if kind != SENDS or not others:
            yield first
        else:
            yield replace(first, target=-1, shares=_mean([first, *others]))


def _mean(activities: Sequence[Activity]) -> Any:
    return np.mean([each.shares for each in activities], axis=0)


def _of_link(times: RankTimes, pair: tuple[int, int], moves: Any, edges: Any) -> Any:
    """The part of the peak rate. Bytes leave while a transfer keeps its pipe."""
    moved = np.diff(amount_until(moves["begin"], moves["end"], moves["bytes"], edges))
    rates = moved / np.diff(edges)
    peak = _peak_rate(times, pair)
    return np.clip(rates / peak, 0.0, 1.0) if peak else rates / max(rates.max(), 1e-9)


def _peak_rate(times: RankTimes, pair: tuple[int, int]) -> float:
    """Bytes a cycle of the link between two ranks, or of any link where they share no link; 0 where
    nothing limits it."""
    links = [times.links[pair]] if pair in times.links else [*times.links.values()]
    least = sum(link.least_microseconds for link in links)
    return sum(link.bytes for link in links) / (least * times.whole.mhz) if least else 0.0
