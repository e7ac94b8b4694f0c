"""The modelled time of a run in a few lines: total, pipes, rates, and where pipes waited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_runtime.simulator.timeline import Stall, Timeline

_MOST_STALLS = 5


def time_summary(timeline: Timeline) -> str:
    """What one wants to know first about a timed run."""
    return "\n".join(_lines(timeline))


def _lines(timeline: Timeline) -> Iterator[str]:
    whole = timeline.microseconds
    yield f"modelled  {whole:.2f} us on the device, {timeline.task_microseconds:.2f} us with launch"
    for (core, pipe), busy in timeline.busy().items():
        yield f"  {core} {pipe:<5}{busy:10.2f} us busy {_percent(busy, whole):>7}"
    if timeline.totals["macs"]:
        share = _percent(timeline.flops, timeline.peak_flops)
        peak = timeline.peak_flops / 1e12
        yield f"matrix    {timeline.flops / 1e12:.2f} TFLOP/s, {share} of {peak:.0f} (16-bit peak)"
    peak = timeline.hbm_bandwidth / 1e3
    hbm = timeline.totals["hbm_bytes"] / whole / 1e6 if whole else 0.0
    yield (
        f"memory    {timeline.bandwidth / 1e12:.3f} TB/s with GM; of that "
        f"{hbm:.3f} TB/s with HBM, {_percent(hbm, peak)} of {peak:g}"
    )
    stalls = timeline.stalls()[:_MOST_STALLS]
    if stalls:
        yield "longest stalls, summed over cores:"
    for stall in stalls:
        yield _stall(stall, timeline.mhz)


def _stall(stall: Stall, mhz: float) -> str:
    file, number = stall.worker_file, stall.worker_line
    place = f"{PurePath(file).name}:{number}" if number else file
    text = (
        f"  {stall.cycles / mhz:10.2f} us  {stall.core} {stall.pipe:<5}{stall.reason:<16}"
        f"x{stall.count:<6} for {stall.worker:<9}{place}"
    )
    line = _source_line(file, number)
    return f"{text}  {line}" if line else text


def _source_line(file: str, number: int) -> str:
    path = Path(file)
    if not number or not path.is_file():
        return ""
    lines = path.read_text(errors="replace").splitlines()
    return lines[number - 1].strip() if number <= len(lines) else ""


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else "-"
