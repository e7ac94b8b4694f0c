"""The gauge of the roofline: how much of the time each part of the chip would need alone."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.report.number_text import microseconds
from tile_runtime.tools.report.roofline import Roofline


@dataclass(frozen=True, slots=True)
class GaugeRow:
    """A part of the chip: what it would need alone as text, and as a share of the time, from 0 to
    1. The part that `decides` needs most."""

    part: str
    least: str
    share: float
    decides: bool


@dataclass(frozen=True, slots=True)
class RooflineGauge:
    """The share of the roofline that the run reaches, 0 to 1 but where L2 makes it more; and the
    parts of the chip that have something to do, those that need most first."""

    share: float
    rows: tuple[GaugeRow, ...]


def roofline_gauge(found: Roofline) -> RooflineGauge | None:
    """Return the gauge; None where nothing calculates and nothing moves."""
    if not found.seconds or not found.least[found.bound]:
        return None
    parts = sorted(filter(found.least.get, found.least), key=lambda part: -found.least[part])
    rows = (
        GaugeRow(
            part, microseconds(found.least[part] * 1e6),
            min(1.0, found.least[part] / found.seconds), part == found.bound,
        )
        for part in parts
    )  # fmt: skip
    return RooflineGauge(found.share, tuple(rows))
