"""The figures at the top of the page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.time_error import error_bar
from tile_runtime.simulator.timeline import WORK, Timeline
from tile_runtime.tools.report.number_text import binary, microseconds, percent, rate
from tile_runtime.tools.report.timed_run import TimedRun


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, its name, and what it is compared with."""

    name: str
    value: str
    note: str


def figures(run: TimedRun) -> Iterator[Figure]:
    """Compute the main figures of a run."""
    line = run.timeline
    totals = line.totals
    bar = error_bar(line)
    yield Figure(
        "time on the device",
        microseconds(line.microseconds),
        f"{totals['cycles']:.0f} cycles at {line.mhz:g} MHz; half of the published times "
        f"{'of ' + bar.regime + ' ' if bar.regime else ''}are within {bar.part:.0%} of the model",
    )
    yield Figure(
        "with launch",
        microseconds(line.task_microseconds),
        f"launching takes {totals['launch_us']:.2f} µs; profilers call the sum task duration",
    )
    if run.ranks is not None:
        yield _between_ranks(run.ranks)
    if totals["macs"]:
        yield Figure(
            "matrix products",
            rate(line.flops, "FLOP/s"),
            f"{percent(line.flops, line.peak_flops)} of the 16-bit peak, "
            f"{rate(line.peak_flops, 'FLOP/s')}",
        )
    moved = totals["read_bytes"] + totals["write_bytes"]
    yield Figure(
        "to and from GM",
        rate(line.bandwidth, "B/s"),
        f"{binary(totals['read_bytes'])} read, {binary(totals['write_bytes'])} written",
    )
    seconds = line.microseconds * 1e-6
    hbm = totals["hbm_bytes"] / seconds if seconds else 0.0
    peak = line.hbm_bandwidth * 1e9
    yield Figure(
        "of that through HBM",
        binary(totals["hbm_bytes"]),
        f"{percent(totals['hbm_bytes'], moved)} of the bytes missed L2; {rate(hbm, 'B/s')} are "
        f"{percent(hbm, peak)} of the peak, {rate(peak, 'B/s')}",
    )
    blocks = len(np.unique(line.events["block"]))
    yield Figure(
        "instructions",
        f"{len(line.events):,}",
        f"cores at work: {cores_at_work(line)}; blocks: {blocks}",
    )


def _between_ranks(times: RankTimes) -> Figure:
    moved = sum(map(sum, times.bytes_between))
    without = f"it takes {microseconds(times.microseconds_without_links)} if links take no time"
    if times.overlap is None:
        return Figure("ranks", f"{times.ranks}", f"no bytes go from one to another; {without}")
    note = f"by computation; {binary(moved)} go between {times.ranks} ranks; "
    return Figure("communication hidden", percent(times.overlap, 1), note + without)


def cores_at_work(line: Timeline) -> str:
    """Of each kind how many cores of the chip did something, of how many: blocks that run one after
    the other share cores, and a core that only waits or sets flags does nothing."""
    work = line.events[line.events["kind"] == WORK]
    core = work["block"].astype(np.int64) * 4 + work["core"]
    parts = []
    for vector, name, all_of_them in (
        (False, "cube", line.cube_cores), (True, "vector", line.vector_cores)
    ):  # fmt: skip
        used = min(len(np.unique(core[(work["core"] > 0) == vector])), all_of_them)
        if used:
            parts.append(f"{used} of {all_of_them} {name}")
    return ", ".join(parts) or "none"
