"""Write what is known of the ranks of a timed run as JSON, and read it back."""

from __future__ import annotations

from typing import Any

from tile_runtime.simulator.rank_times import LinkTime, RankPart, RankTimes
from tile_runtime.simulator.timeline import Timeline


def ranks_to_json(times: RankTimes) -> dict[str, Any]:
    """All but the timeline."""
    return {
        "parts": [[part.event, part.access, part.totals] for part in times.parts],
        "blocks": times.blocks,
        "links": [
            [*pair, link.bytes, link.signals, link.busy_microseconds, link.least_microseconds]
            for pair, link in times.links.items()
        ],
        "microseconds_without_links": times.microseconds_without_links,
    }


def ranks_from_json(timeline: Timeline, saved: dict[str, Any]) -> RankTimes:
    """The ranks of a run with this timeline."""
    parts = tuple(
        RankPart(int(event), int(access), {str(k): float(v) for k, v in totals.items()})
        for event, access, totals in saved["parts"]
    )
    links = {
        (int(source), int(target)): LinkTime(int(moved), int(signals), float(busy), float(least))
        for source, target, moved, signals, busy, least in saved["links"]
    }
    without_links = float(saved["microseconds_without_links"])
    return RankTimes(timeline, parts, int(saved["blocks"]), links, without_links)


def ranks_contradict(times: RankTimes) -> str:
    """Find a contradiction of the ranks to the timeline; "" if there is none."""
    ranks, timeline = times.ranks, times.whole
    if ranks < 2 or times.blocks < 1:
        return f"it has {ranks} ranks of {times.blocks} blocks"
    if any("cycles" not in part.totals for part in times.parts):
        return "a rank has no number of cycles"
    for name, count in (("event", len(timeline.events)), ("access", len(timeline.accesses))):
        places = [getattr(part, name) for part in times.parts]
        if places != sorted(places) or not 0 <= places[0] <= places[-1] <= count:
            return f"the ranks begin at {places} of {count} records of {name}"
    if int(timeline.events["block"].max(initial=0)) >= ranks * times.blocks:
        return f"a block is beyond the {ranks * times.blocks} of all ranks"
    if int(timeline.events["peer"].max(initial=0)) > ranks:
        return f"an event names a rank beyond the {ranks}"
    if any(not 0 <= rank < ranks for pair in times.links for rank in pair):
        return f"a link ends at a rank beyond the {ranks}"
    return ""
