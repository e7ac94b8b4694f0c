"""The chain of instructions that decides when the last one ends."""

from __future__ import annotations

from dataclasses import dataclass

from tile_runtime.chrome_trace import flag_text
from tile_runtime.timed_run import TimedRun, place_text
from tile_runtime.timeline import CORES, PIPES, REASONS


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the path; times in microseconds. `index` is -1 where steps are left out."""

    index: int
    begin: float = 0.0
    end: float = 0.0
    where: str = ""
    what: str = ""
    why: str = ""
    place: str = ""
    left_out: int = 0


def critical_steps(run: TimedRun, count: int) -> list[Step]:
    """The path in order of time; steps in the middle are left out beyond `count`."""
    path = list(run.timeline.critical_path())[::-1]
    if len(path) <= count:
        return [_step(run, i) for i in path]
    half = count // 2
    head, tail = path[:half], path[half - count :]
    gap = Step(-1, left_out=len(path) - len(head) - len(tail))
    return [*(_step(run, i) for i in head), gap, *(_step(run, i) for i in tail)]


def _step(run: TimedRun, index: int) -> Step:
    timeline = run.timeline
    event = timeline.events[index]
    place = run.cpp_place(int(event["file"]), int(event["line"]))
    waited = float(event["waited"]) / timeline.mhz
    reason = REASONS[event["reason"]]
    flag = flag_text(event)
    return Step(
        index,
        float(event["begin"]) / timeline.mhz,
        float(max(event["end"], event["complete"])) / timeline.mhz,
        f"block {event['block']} {CORES[event['core']]} {PIPES[event['pipe']]}",
        timeline.strings[event["api"]] + (f" ({flag})" if flag else ""),
        f"waited {waited:.3f} µs: {reason}" if waited else "",
        place_text(run.places.get(place, place)),
    )
