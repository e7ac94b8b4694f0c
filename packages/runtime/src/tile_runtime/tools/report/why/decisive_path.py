"""Where the time went on the way to the last instruction: the critical path, cut into the work of
lines, the latency of their results, handing instructions over, and flags between cores.

The path is the timeline's, followed on into the blocks that ran before on the same core; here each
cycle of it gets an owner. Says nothing about what could be done.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal, TypeVar

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import KINDS, PIPES, WORK, Timeline, sums_by
from tile_runtime.tools.report.flag_pairs import RANK_WAITS
from tile_runtime.tools.report.timed_run import Place
from tile_runtime.tools.report.why.core_chains import CoreChains

_HANDOVERS = (KINDS.index("cross wait"), *RANK_WAITS)
# What a stretch of the path is: an instruction holds its pipe; its result is not ready although the
# pipe is free; the scalar unit hands an instruction over; a flag is under way to another core, or a
# signal to another rank.
Doing = Literal["work", "latency", "handover", "flag"]
DOINGS: tuple[Doing, ...] = ("work", "latency", "handover", "flag")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PathPart:
    """Cycles of the path of one pipe, from one C++ line: `core` is a kind of core ("aic", "aiv");
    handing over is the scalar unit's, for the line it hands over."""

    core: str
    pipe: str
    doing: Doing
    place: Place
    cycles: float


@dataclass(frozen=True)
class DecisivePath:
    """`parts`, most cycles first, and the number of crossings from one kind of core to the other.
    Together they are the time that blocks take on the core that ends last."""

    parts: tuple[PathPart, ...]
    crossings: int

    @property
    def cycles(self) -> float:
        return sum(part.cycles for part in self.parts)

    def sums(self, key: Callable[[PathPart], Key]) -> dict[Key, float]:
        """Cycles of the parts with one key, most first."""
        found: dict[Key, float] = {}
        for part in self.parts:
            found[key(part)] = found.get(key(part), 0.0) + part.cycles
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def decisive_path(timeline: Timeline, chains: CoreChains) -> DecisivePath:
    """The path to the end of the last block, through all blocks of its core."""
    pieces = [_of_block(timeline, chains, at) for at in chains.last]
    if not pieces:
        return DecisivePath((), 0)
    event, doing, cycles = (np.concatenate(column) for column in zip(*pieces, strict=True))
    some = cycles > 0
    event, doing, cycles = event[some], doing[some], cycles[some]
    e = timeline.events[event]
    scalar = doing == DOINGS.index("handover")
    pipe = np.where(scalar, PIPES.index("S"), e["pipe"])
    vector = e["core"] > 0
    crossings = int((vector[1:] != vector[:-1]).sum())
    columns = [vector, pipe, doing, e["file"], e["line"]]
    keys, sums = sums_by(columns, cycles)
    parts = [
        PathPart(
            "aiv" if v else "aic", PIPES[p], DOINGS[d], (timeline.strings[f], int(n)), float(c)
        )
        for (v, p, d, f, n), c in zip(keys, sums, strict=True)
    ]  # fmt: skip
    return DecisivePath(tuple(sorted(parts, key=lambda p: (-p.cycles, p.place))), crossings)


def _of_block(timeline: Timeline, chains: CoreChains, at: int) -> tuple[Any, Any, Any]:
    """Events, what they do, and cycles, of the path to the end of one block."""
    events = timeline.events
    low, high = np.searchsorted(events["block"], [chains.blocks[at], chains.blocks[at] + 1])
    path = np.array(_back_from(events, int(low + np.argmax(events["complete"][low:high]))))
    e = events[path]
    at = int(np.searchsorted(chains.blocks, e["block"][0]))
    lasting = e["kind"] == WORK
    left = np.empty(len(path))
    left[0] = min(chains.start[at], e["begin"][0])
    left[1:] = np.minimum(e["complete"][:-1], np.where(lasting, e["begin"], e["end"])[1:])
    right = np.append(left[1:], e["complete"][-1])
    begin = np.clip(e["begin"], left, right)
    end = np.clip(e["end"], begin, right)
    crossing = np.isin(e["kind"], _HANDOVERS)
    between = np.where(crossing, DOINGS.index("flag"), DOINGS.index("handover"))
    work = np.where(lasting, DOINGS.index("work"), between)
    under_way = np.where(e["kind"] == KINDS.index("signal"), DOINGS.index("flag"), between)
    later = np.where(lasting, DOINGS.index("latency"), under_way)
    return (
        np.repeat(path, 3),
        np.stack([between, work, later], axis=1).ravel(),
        np.stack([begin - left, end - begin, right - end], axis=1).ravel(),
    )


def _back_from(events: Any, index: int) -> list[int]:
    """An event, and before it those that it waited for, as far back as its block goes, or that of
    another rank whose signal it waited for. A wait for another block of the same device leads
    out of this one: the time before is then a wait."""
    found = {index: None}
    while True:
        before = int(events["cause"][index])
        if before < 0 or before in found or _leaves(events[index], events[before]):
            return [*reversed(found)]
        found[before] = None
        index = before


def _leaves(event: Any, before: Any) -> bool:
    return bool(event["block"] != before["block"]) and event["kind"] not in RANK_WAITS
