"""Lines by the work they do, each with the pipes that do it, how much of it decided the end, and
how long others waited for it. Lines of Python where they are known, of C++ where not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import PIPES, WITHIN_WORK, WORK, sums_by
from tile_runtime.tools.report.timed_run import Place, TimedRun
from tile_runtime.tools.report.why.decisive_path import DecisivePath


@dataclass(frozen=True, slots=True)
class LineWork:
    """Cycles of a line: `work` by kind of core and pipe ("aiv", "V"), summed over cores, most
    first; `decisive` on the critical path; `waited_for` of other pipes, summed over cores. `cpp`
    is the C++ line that works most."""

    place: Place
    text: str
    remark: str
    work: dict[tuple[str, str], float]
    instructions: int
    decisive: float
    waited_for: float
    cpp: Place

    @property
    def total(self) -> float:
        return sum(self.work.values())


def line_work(run: TimedRun, path: DecisivePath) -> list[LineWork]:
    """All lines that work, most work first."""
    work = _work(run)
    lines: dict[Place, list[Place]] = {}
    for cpp in work:
        lines.setdefault(run.shown_place(cpp), []).append(cpp)
    decisive = path.sums(lambda part: run.shown_place(part.place))
    waited: dict[Place, float] = {}
    for stall in run.timeline.stalls():
        if stall.reason in WITHIN_WORK:
            continue
        place = run.shown_place((stall.worker_file, stall.worker_line))
        waited[place] = waited.get(place, 0.0) + stall.cycles
    found = []
    for place, made in lines.items():
        sums: dict[tuple[str, str], float] = {}
        for cpp in made:
            for pipe, (cycles, _) in work[cpp].items():
                sums[pipe] = sums.get(pipe, 0.0) + cycles
        most = max(made, key=lambda cpp: sum(c for c, _ in work[cpp].values()))
        found.append(
            LineWork(
                place, run.text_at(place), run.remarks.get(place, ""),
                dict(sorted(sums.items(), key=lambda item: -item[1])),
                sum(n for cpp in made for _, n in work[cpp].values()),
                decisive.get(place, 0.0), waited.get(place, 0.0), most,
            )
        )  # fmt: skip
    return sorted(found, key=lambda line: (-line.total, line.place))


def share_of_lines(
    lines: list[LineWork], wanted: Callable[[tuple[str, str]], bool]
) -> list[tuple[LineWork, float]]:
    """The lines that do the work of some pipes, most first, each with its share of that work."""
    sums = [(line, sum(c for pipe, c in line.work.items() if wanted(pipe))) for line in lines]
    whole = sum(cycles for _, cycles in sums)
    some = [(line, cycles / whole) for line, cycles in sums if cycles > 0]
    return sorted(some, key=lambda item: -item[1])


def _work(run: TimedRun) -> dict[Place, dict[tuple[str, str], tuple[float, int]]]:
    """Cycles and instructions of each C++ line and pipe."""
    events = run.timeline.events[run.timeline.events["kind"] == WORK]
    if not len(events):
        return {}
    columns = [events["file"], events["line"], events["core"] > 0, events["pipe"]]
    keys, cycles, counts = sums_by(columns, events["end"] - events["begin"], np.ones(len(events)))
    found: dict[Place, dict[tuple[str, str], tuple[float, int]]] = {}
    for (file, line, vector, pipe), c, n in zip(keys, cycles, counts, strict=True):
        here = found.setdefault(run.cpp_place(file, line), {})
        here["aiv" if vector else "aic", PIPES[pipe]] = (float(c), int(n))
    return found
