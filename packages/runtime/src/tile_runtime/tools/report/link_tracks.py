"""Write the transfers between ranks as events of a Chrome trace: a process for each rank, with a
thread for each rank that it sends to, and a counter of the rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tile_runtime.simulator.activity import amount_until
from tile_runtime.simulator.rank_overlap import transfer_ends
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.tools.report.tracks import lanes_of


def link_events(times: RankTimes) -> Iterator[tuple[int, int, int, int]]:
    """For each transfer between ranks its index in the events, the rank that has the bytes, the one
    that gets them, and its lane: transfers of a pair in one lane do not overlap. A transfer lasts
    from its begin until it is complete."""
    source, target = transfer_ends(times.whole.events, times.blocks)
    index = np.flatnonzero(source != target)
    events, source, target = times.whole.events[index], source[index], target[index]
    lane = lanes_of(source * times.ranks + target, events["begin"], events["complete"])
    yield from zip(index.tolist(), source.tolist(), target.tolist(), lane.tolist(), strict=True)


def link_rates(times: RankTimes, edges: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """For each rank that sends the GB/s to each other one between edges in cycles."""
    source, target = transfer_ends(times.whole.events, times.blocks)
    for rank in range(times.ranks):
        rates = {}
        for other in np.unique(target[(source == rank) & (target != rank)]).tolist():
            moves = times.whole.events[(source == rank) & (target == other)]
            moved = np.diff(amount_until(moves["begin"], moves["end"], moves["bytes"], edges))
            steps = np.maximum(np.diff(edges), 1e-9)
            rates[f"to rank {other} GB/s"] = moved / steps * times.whole.mhz * 1e6 / 1e9
        if rates:
            yield rank, rates
