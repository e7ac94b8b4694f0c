"""The chain of instructions that decides when the last one ends."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.simulator.timeline import CORES, PIPES, REASONS, WORK
from tile_runtime.tools.report.chrome_trace import flag_text
from tile_runtime.tools.report.timed_run import TimedRun, place_text


@dataclass(frozen=True, slots=True)
class PathStep:
    """An event of the path; times in microseconds. `index` is -1 where steps are left out."""

    index: int
    begin: float = 0.0
    end: float = 0.0
    where: str = ""
    what: str = ""
    why: str = ""
    place: str = ""
    left_out: int = 0


def critical_steps(run: TimedRun, count: int) -> list[PathStep]:
    """The path in order of time; what one pipe does of one line without a wait is one step, and
    steps in the middle are left out beyond `count`."""
    path = list(run.timeline.critical_path())[::-1]
    parts = _stretches(run, path)
    if len(parts) <= count:
        return [_stretch(run, p) for p in parts]
    half = count // 2
    head, tail = parts[:half], parts[half - count :]
    left_out = sum(map(len, parts)) - sum(map(len, head)) - sum(map(len, tail))
    gap = PathStep(-1, left_out=left_out)
    return [*(_stretch(run, p) for p in head), gap, *(_stretch(run, p) for p in tail)]


def _stretches(run: TimedRun, path: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    names = ["block", "core", "pipe", "file", "line", "kind"]
    for index in path:
        event = run.timeline.events[index]
        if found and event["kind"] == WORK and event["waited"] == 0:
            before = run.timeline.events[found[-1][-1]]
            if all(event[n] == before[n] for n in names):
                found[-1].append(index)
                continue
        found.append([index])
    return found


def _stretch(run: TimedRun, part: list[int]) -> PathStep:
    first = _step(run, part[0])
    if len(part) == 1:
        return first
    names = dict.fromkeys(run.timeline.strings[run.timeline.events[i]["api"]] for i in part)
    return replace(
        first, end=_step(run, part[-1]).end, what=f"{', '.join(names)}: {len(part)} instructions"
    )


def _step(run: TimedRun, index: int) -> PathStep:
    timeline = run.timeline
    event = timeline.events[index]
    place = run.cpp_place(int(event["file"]), int(event["line"]))
    waited = float(event["waited"]) / timeline.mhz
    reason = REASONS[event["reason"]]
    flag = flag_text(event)
    return PathStep(
        index,
        float(event["begin"]) / timeline.mhz,
        float(max(event["end"], event["complete"])) / timeline.mhz,
        f"{run.block_name(int(event['block']))} {CORES[event['core']]} {PIPES[event['pipe']]}",
        timeline.strings[event["api"]] + (f" ({flag})" if flag else ""),
        f"waited {waited:.3f} µs: {reason}" if waited else "",
        place_text(run.places.get(place, place)),
    )
