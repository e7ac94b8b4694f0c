"""How far modelled times are from published ones, in words beside a modelled time.

docs/hardware/time_model.md#measured-against-published has the values: medians over the published
rows of a
regime, and over those of pages that fixed no constant for everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from tile_runtime.simulator.timeline import Timeline

# Median errors by the regimes of tests/timing/regimes.py, in parts of one.
MEDIAN_ERRORS = {
    "": 0.07,
    "rows of GM that are not whole lines of 512 B": 0.09,
    "copies of single elements": 0.14,
    "launch and start of small kernels": 0.10,
    "Sort32 and MrgSort": 0.02,
}
_SORTS = {"Sort32", "MrgSort"}
# Bytes of a copy of an element at most, and what part of the copies or of the time is most.
_ELEMENT = 8
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """The median error of modelled times, a part of one, in the regime a launch belongs to; the
    empty one is that of kernels in general."""

    part: float
    regime: str


def error_bar(timeline: Timeline) -> ErrorBar:
    """Of the regimes the launch belongs to, the one with the largest error."""
    found = max(_regimes(timeline), key=lambda regime: MEDIAN_ERRORS[regime])
    return ErrorBar(MEDIAN_ERRORS[found], found)


def modelled_text(timeline: Timeline) -> str:
    """The modelled times of a launch with their error, as one line says them."""
    bar = error_bar(timeline)
    where = f" of {bar.regime}" if bar.regime else ""
    return (
        f"{timeline.microseconds:.2f} us on the device, {timeline.task_microseconds:.2f} us with "
        f"launch (half of the published times{where} are within {bar.part:.0%})"
    )


def _regimes(timeline: Timeline) -> list[str]:
    regimes = [""]
    events = timeline.events
    outside = timeline.task_microseconds - timeline.body_microseconds
    if outside > _MOST * timeline.task_microseconds:
        regimes.append("launch and start of small kernels")
    if _SORTS & {timeline.strings[number] for number in set(events["api"].tolist())}:
        regimes.append("Sort32 and MrgSort")
    moved = timeline.accesses[timeline.accesses["rows"] > 0]
    if len(moved):
        if (moved["end"] - moved["begin"] <= _ELEMENT).mean() > _MOST:
            regimes.append("copies of single elements")
        if (moved["off_line"] > 0).mean() > _MOST:
            regimes.append("rows of GM that are not whole lines of 512 B")
    return regimes
