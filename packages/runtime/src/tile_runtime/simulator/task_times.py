"""Compute the times of a megakernel's tasks from its modelled timeline, and the gain of one launch
over one for each task: less starting, earlier loads, and the cost of waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tile_ir.costs.timing import DEFAULT_TIMING
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import WORK, Timeline

_HEAD = re.compile(r"^(?P<indent> *)\{  // task (?P<name>\S+)$")
_LOOK, _MEETING = "fresh_word(", "sync_block<"
# The first vector core of a block.
VECTOR = 1


@dataclass(frozen=True, slots=True)
class TaskTime:
    """Microseconds: from when to when a task moves and computes, on any core; for how long neither
    it nor one before it does so; and for how long it does so alone. `early` is the time that HBM
    needs for its loads in front of the wait, at most up to the end of the wait."""

    name: str
    begin: float
    end: float
    waited: float
    own: float
    early: float


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain in microseconds of one launch over one for each task.

    `total` is the sum of these parts: `heads`, the begin and the end of launches; `restarts`, the
    begin of blocks beyond the cores; `prefetch`, loads before waits; less `waits`, time that only
    waits fill; and `rest`, such as bytes that still lie in L2."""

    total: float
    heads: float
    restarts: float
    prefetch: float
    waits: float

    @property
    def rest(self) -> float:
        return self.total - self.heads - self.restarts - self.prefetch + self.waits

    @property
    def without_launches(self) -> float:
        """The gain where launches cost nothing."""
        return self.total - self.heads - self.restarts

    def __str__(self) -> str:
        return (
            f"{self.total:.1f} us less: heads of launches {self.heads:.1f}, blocks beyond the "
            f"cores {self.restarts:.1f}, loads before waits {self.prefetch:.1f}, waits "
            f"{-self.waits:.1f}, other {self.rest:.1f}; {self.without_launches:.1f} if launches "
            "cost nothing"
        )


def task_times(timeline: Timeline, source: str) -> tuple[TaskTime, ...]:
    """Of each task that moves or computes anything, in their order; `source` is the emitted one."""
    places: dict[str, list[tuple[int, int, int]]] = {}
    for name, *lines in _places(source.splitlines()):
        places.setdefault(name, []).append((lines[0], lines[1], lines[2]))
    front = timeline.totals["start_cycles"]
    found = []
    for name, parts in places.items():
        works = _of(timeline, [(first, last) for _, first, last in parts])
        if not len(works):
            continue
        early = _of(timeline, [(begin, first) for begin, first, _ in parts])
        begin, end = works["begin"].min(), works["complete"].max()
        loading = min(_loading(timeline, early), begin - early["begin"].min()) if len(early) else 0
        waited, own = max(0.0, begin - front), max(0.0, end - max(begin, front))
        front = max(front, end)
        cycles = (begin, end, waited, own, loading)
        found.append(TaskTime(name, *(float(c) / timeline.mhz for c in cycles)))
    return tuple(found)


def _loading(timeline: Timeline, loads: Any) -> float:
    """Cycles in which HBM gives some loads."""
    return float(loads["bytes"].sum() * timeline.mhz / (timeline.hbm_bandwidth * 1e3))


def gain_over(launches: Sequence[Timeline], whole: Timeline, source: str) -> Gain:
    """Compute the gain of one launch of tasks over the launches of each by itself."""
    tasks = task_times(whole, source)
    waits = sum(task.waited for task in tasks[1:])
    return Gain(
        sum(line.microseconds for line in launches) - whole.microseconds,
        sum(map(_head, launches)) - _head(whole),
        sum(map(_restarts, launches)) - _restarts(whole),
        sum(task.early for task in tasks),
        waits,
    )


def _head(line: Timeline) -> float:
    """Until anything moves or computes, and what is left of the launch when all of that is done."""
    works = _working(line.events)
    if not len(works):
        return line.microseconds
    return float(works["begin"].min() + line.totals["cycles"] - works["complete"].max()) / line.mhz


def _restarts(line: Timeline) -> float:
    """Blocks beyond the cores begin one after the other on each."""
    blocks = int(line.events["block"].max(initial=0)) + 1
    vectors_alone = (line.events["core"] == VECTOR).all()
    cores = line.vector_cores if vectors_alone else line.cube_cores
    return (-(-blocks // cores) - 1) * DEFAULT_TIMING.block_us


def _of(timeline: Timeline, parts: Sequence[tuple[int, int]]) -> Any:
    """The instructions that move or compute, of lines [first, last) of the emitted source."""
    events = timeline.events
    inside = np.zeros(len(events), bool)
    for first, last in parts:
        inside |= (events["line"] >= first) & (events["line"] < last)
    return _working(events[inside])


def _working(events: Any) -> Any:
    return events[(events["kind"] == WORK) & (events["pipe"] > 0)]


def _places(lines: Sequence[str]) -> Iterator[tuple[str, int, int, int]]:
    """The name of each task on each kind of core, its first line, the first one behind its waits,
    and the one behind its work, where its signals stand."""
    for at, line in enumerate(lines):
        if (head := _HEAD.match(line)) is None:
            continue
        end = lines.index(head["indent"] + "}", at)
        looks = [n for n in range(at, end) if _LOOK in lines[n]]
        told = [n for n in range(at, end) if _MEETING in lines[n]]
        yield head["name"], at + 1, (looks[-1] if looks else at) + 1, (told or [end])[-1] + 1
