"""Where the events of a timeline are drawn: a track for each pipe, more where transfers overlap."""

from __future__ import annotations

from typing import Any

import numpy as np


def lanes(events: Any) -> Any:
    """A number for each event: those of a pipe with the same number do not overlap.

    0 except for what begins before an earlier event of its pipe has ended, as transfers do. Events
    that take no time lie inside others and keep 0.
    """
    found = np.zeros(len(events), np.int64)
    lasting = np.flatnonzero(events["end"] > events["begin"])
    e = events[lasting]
    group = (e["block"].astype(np.int64) * 4 + e["core"]) * 8 + e["pipe"]
    order = np.lexsort((lasting, e["begin"], group))
    group, begin, end = group[order], e["begin"][order], e["end"][order]
    overlap = (group[1:] == group[:-1]) & (begin[1:] < end[:-1])
    crowded = np.isin(group, np.unique(group[1:][overlap]))
    ends: list[float] = []
    last = -1
    for at in np.flatnonzero(crowded):
        if group[at] != last:
            last, ends = group[at], []
        lane = next((i for i, free in enumerate(ends) if free <= begin[at]), len(ends))
        ends[lane : lane + 1] = [end[at]]
        found[lasting[order[at]]] = lane
    return found
