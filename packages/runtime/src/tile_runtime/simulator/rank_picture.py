"""Draw a timed launch over several ranks as SVG: what each rank does over time, and each link."""

from __future__ import annotations

from tile_runtime.simulator.activity_picture import ActivityKind, ActivityRow, activity_picture
from tile_runtime.simulator.rank_activity import (
    CUBE,
    SENDS,
    VECTOR,
    WAITS,
    rank_activities,
    sent_together,
    shown_cycles,
)
from tile_runtime.simulator.rank_times import RankTimes

KINDS = {
    CUBE: ActivityKind("#c2570c", "cube cores at work"),
    VECTOR: ActivityKind("#1f77c9", "vector cores at work"),
    WAITS: ActivityKind("#8c959f", "cores that wait for other ranks"),
    SENDS: ActivityKind("#8a3ea8", "bytes to other ranks, of the peak rate"),
}
# Beyond so many ranks, what one of them sends is one row.
_MOST_LINKED = 4
_STEPS = 240
# What a row has in the mean at least, to be worth one.
_LEAST = 0.0005


def rank_picture(times: RankTimes, paper: str = "none") -> str:
    """The picture. The height of a row is all cores of the rank, or the peak rate of the link; at
    its right stands the mean over the launch. `paper` is the colour behind it."""
    found = [row for row in rank_activities(times, _STEPS) if row.shares.mean() >= _LEAST]
    if times.ranks > _MOST_LINKED:
        found = [*sent_together(found)]
    rows = [ActivityRow(f"rank {row.rank}", row.label, row.kind, row.shares) for row in found]
    microseconds = shown_cycles(times) / times.whole.mhz
    return activity_picture(rows, KINDS, microseconds, f"{times.ranks} ranks over time", paper)
