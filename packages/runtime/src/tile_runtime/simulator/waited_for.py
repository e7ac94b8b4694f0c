"""Find the work that a pipe waited for: from a wait back through flags, barriers and instructions
that were handed over late, to the instructions that took the time."""

from __future__ import annotations

from typing import Any

import numpy as np

# Lines that take turns within one wait; of what is left then the waiting line is its own worker.
MOST_TURNS = 64


def shares_of_waits(events: Any, work: int) -> tuple[Any, Any, Any]:
    """Every wait taken apart: the index of the wait, that of the event that worked, and cycles.
    `work` is the kind of events that do something.

    A wait ends when its cause is complete; before that its cause worked, or waited for a cause of
    its own, and so on back to where the wait began. Time in which nothing of this chain was under
    way went into handing over the instruction itself: it is then its own worker.
    """
    back, head = _links(events, work)
    wait = np.flatnonzero(events["waited"] > 0)
    lasting = events["kind"][wait] == work
    right = np.where(lasting, events["begin"][wait], events["end"][wait])
    began = right - events["waited"][wait]
    own = np.zeros(len(wait))
    parts = []
    active, at = np.arange(len(wait)), back[wait]
    for _ in range(MOST_TURNS):
        going = (at >= 0) & (right[active] > began[active])
        active, at = active[going], at[going]
        if not len(active):
            break
        until, limit = right[active], began[active]
        done = np.clip(events["complete"][at], limit, until)
        start = np.clip(events["begin"][head[at]], limit, done)
        own[active] += until - done
        parts.append((wait[active], at, done - start))
        right[active] = start
        at = back[head[at]]
    parts.append((wait, wait, own + right - began))
    found = [np.concatenate(column) for column in zip(*parts, strict=True)]
    some = found[2] > 0
    return found[0][some], found[1][some], found[2][some]


def _links(events: Any, work: int) -> tuple[Any, Any]:
    """For each event the instruction behind its cause, -1 if there is none, and the first of the
    stretch of instructions of one line and pipe that follow each other up to it."""
    number = np.arange(len(events))
    cause = np.where(events["cause"] >= 0, events["cause"], number)
    lasting = events["kind"] == work
    root = _ends(np.where(lasting, number, cause))
    back = np.where(lasting[root[cause]] & (cause != number), root[cause], -1)
    same = lasting & lasting[cause] & (events["waited"] == 0) & (cause != number)
    for name in ("block", "core", "pipe", "file", "line"):
        same &= events[name] == events[name][cause]
    return back, _ends(np.where(same, cause, number))


def _ends(link: Any) -> Any:
    """Where each chain of links leads. Steps double: a few rounds walk one of any length."""
    for _ in range(len(link).bit_length()):
        further = link[link]
        if (further == link).all():
            break
        link = further
    return link
