"""Where the events of a timeline are drawn: a track for each pipe, more where transfers overlap."""

from __future__ import annotations

from typing import Any

import numpy as np


def lanes(events: Any) -> Any:
    """A number for each event: those of a pipe with the same number do not overlap.

    0 except for what begins before an earlier event of its pipe has ended, as transfers do. Events
    that take no time lie inside others and keep 0.
    """
    group = (events["block"].astype(np.int64) * 4 + events["core"]) * 8 + events["pipe"]
    return lanes_of(group, events["begin"], events["end"])


def lanes_of(group: Any, begin: Any, end: Any) -> Any:
    """The same for stretches of time: those of a group with the same number do not overlap."""
    found = np.zeros(len(group), np.int64)
    lasting = np.flatnonzero(end > begin)
    group, begin, end = group[lasting], begin[lasting], end[lasting]
    order = np.lexsort((lasting, begin, group))
    group, begin, end = group[order], begin[order], end[order]
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
