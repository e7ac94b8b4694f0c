"""Source with the cycles each line works and waits, and the stalls by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import PurePath
from textwrap import dedent

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import CORES, PIPES, REASONS, WORK, Stall, sums_by
from tile_runtime.tools.report.chrome_trace import flag_text
from tile_runtime.tools.report.timed_run import Place, TimedRun, place_text

# Lines shown around those with instructions, and how many may be shown in all.
AROUND = 3
LONGEST_SOURCE = 4000


@dataclass(slots=True)
class SourceLine:
    """A line of source; cycles are summed over cores. `number` is 0 where lines are left out, and
    `used` is true if instructions come from the line; `remark` is the compiler's."""

    number: int
    text: str
    work: float = 0.0
    wait: float = 0.0
    work_level: int = 0
    wait_level: int = 0
    used: bool = False
    remark: str = ""


@dataclass(slots=True)
class SourcePane:
    """One language: its files, each with the lines that are shown."""

    language: str
    files: list[tuple[str, str, list[SourceLine]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StallRow:
    """A row of the table of stalls: the line that worked, with its place in C++ and in Python and
    what the compiler remarked of it, and `waiting`, the line that waited."""

    stall: Stall
    flags: str
    cpp: str
    python: str
    text: str
    remark: str
    waiting: str
    place: Place


def cycles_by_line(run: TimedRun) -> dict[Place, tuple[float, float]]:
    """Cycles of work and of waiting for each C++ line."""
    events = run.timeline.events
    if not len(events):
        return {}
    lasting = np.where(events["kind"] == WORK, events["end"] - events["begin"], 0.0)
    keys, work, wait = sums_by([events["file"], events["line"]], lasting, events["waited"])
    return {
        run.cpp_place(*key): (float(w), float(s))
        for key, w, s in zip(keys, work, wait, strict=True)
    }


def source_panes(run: TimedRun) -> list[SourcePane]:
    """Python, if there is any, and C++."""
    cpp = cycles_by_line(run)
    python: dict[Place, tuple[float, float]] = {}
    for place, (work, wait) in cpp.items():
        target = run.places.get(place)
        if target is not None:
            before = python.get(target, (0.0, 0.0))
            python[target] = (before[0] + work, before[1] + wait)
    panes = [_pane("Python", run, python), _pane("C++", run, cpp)]
    return [pane for pane in panes if pane.files]


def _pane(language: str, run: TimedRun, cycles: dict[Place, tuple[float, float]]) -> SourcePane:
    pane = SourcePane(language)
    most_work = max((w for w, _ in cycles.values()), default=0.0)
    most_wait = max((s for _, s in cycles.values()), default=0.0)
    for file in sorted({f for f, _ in cycles if f in run.sources}):
        text = run.sources[file].expandtabs(4).splitlines()
        of_file = {n: c for (f, n), c in cycles.items() if f == file and 0 < n <= len(text)}
        lines = []
        for number in _shown(sorted(of_file), len(text)):
            if number == 0:
                lines.append(SourceLine(0, ""))
                continue
            work, wait = of_file.get(number, (0.0, 0.0))
            lines.append(
                SourceLine(
                    number, text[number - 1], work, wait, _level(work, most_work),
                    _level(wait, most_wait), number in of_file,
                    run.remarks.get((file, number), ""),
                )
            )  # fmt: skip
        if lines:
            _dedent(lines)
            pane.files.append((file, PurePath(file).name, lines))
    return pane


def _dedent(lines: list[SourceLine]) -> None:
    """Take away the indentation all lines share: a pane is narrow."""
    text = dedent("\n".join(line.text for line in lines)).split("\n")
    for line, short in zip(lines, text, strict=True):
        line.text = short


def _shown(used: list[int], length: int) -> Iterator[int]:
    """Numbers of the lines to show; 0 where some are left out."""
    if not used:
        return
    first, last = max(1, used[0] - AROUND), min(length, used[-1] + AROUND)
    if last - first < LONGEST_SOURCE:
        wanted = set(range(first, last + 1))
    else:
        near = (range(n - AROUND, n + AROUND + 1) for n in used)
        wanted = {n for part in near for n in part if 1 <= n <= length}
    before = 0
    for number in sorted(wanted):
        if number != before + 1:
            yield 0
        yield number
        before = number
    if before != length:
        yield 0


def _level(value: float, most: float) -> int:
    """0 for nothing, else 1 to 5: a fifth of the most each."""
    return 0 if value <= 0 or most <= 0 else min(5, 1 + int(5 * value / most))


def stall_rows(run: TimedRun, count: int) -> list[StallRow]:
    """The longest stalls with their places and flags."""
    flags = _flags(run)
    rows = []
    for stall in run.timeline.stalls()[:count]:
        place, at = (stall.worker_file, stall.worker_line), (stall.file, stall.line)
        python = run.places.get(place)
        known = python if python is not None and python[0] in run.sources else place
        rows.append(
            StallRow(
                stall,
                flags.get((stall.core, stall.pipe, stall.reason, *at), ""),
                place_text(place),
                "" if python is None else place_text(python),
                run.text_at(known),
                run.remarks.get(known, ""),
                place_text(run.places.get(at, at)),
                place,
            )
        )
    return rows


def _flags(run: TimedRun) -> dict[tuple[str, str, str, str, int], str]:
    """The flags waited for at each line, by kind of core, pipe, reason and place."""
    events = run.timeline.events
    waits = events[(events["waited"] > 0) & (events["kind"] != WORK)]
    names = ["core", "pipe", "reason", "file", "line", "source", "flag", "kind"]
    _, first = np.unique(waits[names], return_index=True)
    found: dict[tuple[str, str, str, str, int], dict[str, list[str]]] = {}
    for event in waits[np.sort(first)]:
        key = (
            CORES[event["core"]][:3], PIPES[event["pipe"]], REASONS[event["reason"]],
            *run.cpp_place(int(event["file"]), int(event["line"])),
        )  # fmt: skip
        pipes, _, number = flag_text(event).rpartition(" ")
        if number and number not in found.setdefault(key, {}).setdefault(pipes, []):
            found[key][pipes].append(number)
    return {
        key: "; ".join(f"{pipes} {', '.join(numbers)}" for pipes, numbers in flags.items())
        for key, flags in found.items()
    }
