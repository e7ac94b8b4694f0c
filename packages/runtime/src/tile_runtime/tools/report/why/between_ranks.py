"""Find out whether transfers between ranks limit a run over several ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tile_runtime.simulator.rank_overlap import transfer_ends
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.tools.report.number_text import microseconds
from tile_runtime.tools.report.timed_run import Place
from tile_runtime.tools.report.why.finding import Cause, percents
from tile_runtime.tools.report.why.measures import Measures

# Shares of the time from which on what goes between ranks, and a link, decide.
MUCH_EXPOSED = 0.2
LINK_DECIDES = 0.6


def rank_findings(m: Measures) -> Iterator[Cause]:
    """At most one: the time that would not be there if nothing between ranks took any."""
    times = m.run.ranks
    if times is None or not times.links:
        return
    share = times.exposed_microseconds / times.microseconds
    if share < MUCH_EXPOSED:
        return
    says = (
        f"{microseconds(times.exposed_microseconds)} of "
        f"{microseconds(times.microseconds)} would not be there if links took no time"
    )
    (source, target), busiest = max(times.links.items(), key=lambda e: e[1].busy_microseconds)
    busy = busiest.busy_microseconds / times.microseconds
    if busy:
        says += f"; the busiest link, from rank {source} to {target}, moves bytes {percents(busy)}"
        says += " of the time"
    places = _senders(m, times)
    if places:
        says += f", most at {m.line_text(places[0])}"
    if busy >= LINK_DECIDES:
        change = "send fewer bytes, such as sums or a narrower type, or over other links as well"
    elif busy:
        change = (
            "send earlier, in smaller pieces, and to several ranks at a time; wait for a piece "
            "just before it is used"
        )
    else:
        change = "signal less often: one word for several pieces, and no barrier where a word does"
    yield Cause("links", "what goes between ranks", says, change, share, places)


def _senders(m: Measures, times: RankTimes) -> tuple[Place, ...]:
    """The lines whose transfers to or from other ranks take longest, in the order of that."""
    source, target = transfer_ends(times.whole.events, times.blocks)
    moves = times.whole.events[source != target]
    keys = moves["file"].astype(np.int64) << 32 | moves["line"]
    lines, at = np.unique(keys, return_inverse=True)
    lasting = np.bincount(at.ravel(), moves["complete"] - moves["begin"], len(lines))
    order = lines[np.argsort(-lasting, kind="stable")].tolist()
    found = (m.run.shown_place(m.run.cpp_place(k >> 32, k & 0xFFFFFFFF)) for k in order)
    return tuple(dict.fromkeys(found))[:2]
