"""The modelled time of a run in a few lines: total, pipes, rates, and where pipes waited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from tile_runtime.scripts.columns import columns
from tile_runtime.simulator.time_error import modelled_text
from tile_runtime.tools.report.number_text import percent

if TYPE_CHECKING:
    from tile_runtime.simulator.timeline import Stall
    from tile_runtime.tools.report.timed_run import TimedRun

_MOST_STALLS = 5
# A part of the time that is no news.
_WORTH_SAYING = 0.01


def time_summary(run: TimedRun) -> str:
    """Summarise the main figures of a timed run."""
    return "\n".join(_lines(run))


def _lines(run: TimedRun) -> Iterator[str]:
    timeline = run.timeline
    whole = timeline.microseconds
    yield f"modelled  {modelled_text(timeline)}"
    busy = [
        ("", f"{core} {pipe}", f"{us:.2f} us busy", percent(us, whole))
        for (core, pipe), us in timeline.busy().items()
    ]
    yield columns(busy, right=(2, 3))
    if timeline.totals["macs"]:
        share = percent(timeline.flops, timeline.peak_flops)
        peak = timeline.peak_flops / 1e12
        yield f"matrix    {timeline.flops / 1e12:.2f} TFLOP/s, {share} of {peak:.0f} (16-bit peak)"
    peak = timeline.hbm_bandwidth / 1e3
    hbm = timeline.totals["hbm_bytes"] / whole / 1e6 if whole else 0.0
    yield (
        f"memory    {timeline.bandwidth / 1e12:.3f} TB/s with GM; of that "
        f"{hbm:.3f} TB/s with HBM, {percent(hbm, peak)} of {peak:g}"
    )
    owed = timeline.paid_microseconds - whole
    if owed > _WORTH_SAYING * whole:
        yield f"          what was written and is still in L2 takes {owed:.2f} us more to HBM"
    stalls = timeline.stalls()[:_MOST_STALLS]
    if stalls:
        yield "longest stalls, summed over cores:"
        yield columns([_stall(run, stall) for stall in stalls], right=(1,))


def _stall(run: TimedRun, stall: Stall) -> tuple[str, ...]:
    file, number = stall.worker_file, stall.worker_line
    return (
        "",
        f"{stall.cycles / run.timeline.mhz:.2f} us",
        f"{stall.core} {stall.pipe}",
        stall.reason,
        f"x{stall.count}",
        f"for {stall.worker}",
        f"{PurePath(file).name}:{number}" if number else file,
        run.text_at((file, number)),
    )
