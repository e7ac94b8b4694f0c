"""Compute how much of the communication of each rank overlaps with computation.

A rank communicates while bytes of a transfer are on their way out of it or into it, and computes
while a cube or vector unit of any of its cores works. Holistic Trace Analysis defines the overlap
of a GPU trace in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import PIPES, WORK

LOADS = PIPES.index("MTE2")
_UNITS = (PIPES.index("V"), PIPES.index("M"))


@dataclass(frozen=True, slots=True)
class RankOverlap:
    """Cycles in which a rank computes, communicates, and does both."""

    computing: float
    communicating: float
    both: float

    @property
    def part(self) -> float | None:
        """The part of the communication time that computation hides; None without communication."""
        return self.both / self.communicating if self.communicating else None


def rank_overlap(events: Any, blocks: int, rank: int) -> RankOverlap:
    """The overlap of one rank in the events of all ranks, which have `blocks` blocks each."""
    source, target = transfer_ends(events, blocks)
    moves = events[(source != target) & ((source == rank) | (target == rank))]
    own = events["block"] // blocks == rank
    works = events[own & (events["kind"] == WORK) & np.isin(events["pipe"], _UNITS)]
    communication, computation = spans(moves), spans(works)
    both = common_length(communication, computation)
    return RankOverlap(_length(computation), _length(communication), both)


def transfer_ends(events: Any, blocks: int) -> tuple[Any, Any]:
    """For each event the rank that its bytes come from and the one they go to. Both are the rank of
    the event if no bytes go to another rank."""
    own = events["block"].astype(np.int64) // blocks
    moves = (events["kind"] == WORK) & (events["peer"] > 0)
    peer = np.where(moves, events["peer"].astype(np.int64) - 1, own)
    loads = events["pipe"] == LOADS
    return np.where(loads, peer, own), np.where(loads, own, peer)


def spans(events: Any) -> Any:
    """The stretches of time in which at least one event is under way, as rows (begin, end)."""
    order = np.argsort(events["begin"], kind="stable")
    begin, end = events["begin"][order], np.maximum.accumulate(events["complete"][order])
    if not len(begin):
        return np.zeros((0, 2))
    first = np.concatenate([[True], begin[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([begin[first], end[last]], axis=1)


def common_length(first: Any, second: Any) -> float:
    """The total length of the intersection of two lists of intervals."""
    return float(np.diff(covered_until(first, second.ravel()).reshape(-1, 2), axis=1).sum())


def covered_until(stretches: Any, times: Any) -> Any:
    """For each time the length of the stretches before it."""
    if not len(stretches):
        return np.zeros(len(times))
    lengths = np.cumsum(stretches[:, 1] - stretches[:, 0])
    knots = stretches.ravel()
    heights = np.stack([np.concatenate([[0.0], lengths[:-1]]), lengths], axis=1).ravel()
    return np.interp(times, knots, heights)


def _length(stretches: Any) -> float:
    return float((stretches[:, 1] - stretches[:, 0]).sum())
