"""Draw the curves of several kernels over sizes as SVG, a panel for each number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.svg import COLOURS, document, line, round_step, text

# Behind a picture in a file, whose letters are dark.
PAPER = "#ffffff"
_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP, _BOTTOM = 48.0, 58.0, 250.0, 220.0, 62.0, 52.0
_DOT = 3.5
# Round numbers of a logarithmic axis, all of them on one of so many powers of ten.
_FACTORS = (1, 2, 5)
_MOST_POWERS = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """The numbers of a kernel by the labels of sizes."""

    name: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A title, the scale of its axis ("log", "linear" from 0, "percent" from 0 to 100 at least),
    and the curves."""

    title: str
    scale: str
    curves: tuple[Curve, ...]


def perf_picture(
    name: str, labels: Sequence[str], panels: Sequence[Panel], title: str = "", paper: str = "none"
) -> str:
    """Return the picture. Sizes stand at equal distances in their order, under `name`."""
    width = _LEFT + len(panels) * (_WIDTH + _GAP) - _GAP + 14
    parts = [text(_LEFT, 16, title, "font-weight:600")] if title else []
    parts += _legend([curve.name for curve in panels[0].curves])
    for number, panel in enumerate(panels):
        parts += _drawn(_LEFT + number * (_WIDTH + _GAP), name, labels, panel)
    heading = title or f"{', '.join(c.name for c in panels[0].curves)} over {name}"
    return document(width, _TOP + _HEIGHT + _BOTTOM, heading, parts, paper)


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = _LEFT
    for number, name in enumerate(names):
        yield f'<circle cx="{x + 5:g}" cy="30" r="5" fill="{_colour(number)}"/>'
        yield text(x + 14, 34, name)
        x += 6.6 * len(name) + 36


def _drawn(left: float, name: str, labels: Sequence[str], panel: Panel) -> Iterator[str]:
    numbers = [n for curve in panel.curves for n in curve.numbers.values()]
    axis = _Axis.of(panel.scale, numbers)
    yield text(left, _TOP - 8, panel.title, "opacity:.85")
    for mark, words in axis.marks():
        y = axis.y(mark)
        yield line(left, y, left + _WIDTH, y)
        yield text(left - 6, y + 4, words, "text-anchor:end;opacity:.75")
    places = {lab: left + (i + 0.5) * _WIDTH / len(labels) for i, lab in enumerate(labels)}
    # Labels that would touch are left out, but never the last one.
    widest = max((7.0 * len(label) + 8 for label in labels), default=1.0)
    every = max(1, math.ceil(widest * len(labels) / _WIDTH))
    for i, (label, x) in enumerate(places.items()):
        if (len(labels) - 1 - i) % every == 0:
            yield text(x, _TOP + _HEIGHT + 16, label, "text-anchor:middle;opacity:.75")
    middle = left + _WIDTH / 2
    yield text(middle, _TOP + _HEIGHT + 36, name, "text-anchor:middle;opacity:.75")
    for number, curve in enumerate(panel.curves):
        yield from _curve(curve, places, axis, _colour(number), panel.title)


def _curve(
    curve: Curve, places: Mapping[str, float], axis: _Axis, colour: str, title: str
) -> Iterator[str]:
    """Lines between sizes that follow each other, and a dot for each."""
    stretch: list[str] = []
    dots: list[str] = []
    for label, x in [*places.items(), ("", 0.0)]:
        if label and label in curve.numbers:
            number = curve.numbers[label]
            y = axis.y(number)
            stretch.append(f"{x:.1f},{y:.1f}")
            said = escape(f"{curve.name}, {label}: {number:.4g} ({title})")
            dots.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_DOT:g}" fill="{colour}">'
                f"<title>{said}</title></circle>"
            )
            continue
        if len(stretch) > 1:
            points = " ".join(stretch)
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        stretch = []
    yield from dots


@dataclass(frozen=True, slots=True)
class _Axis:
    """A vertical axis from `low` to `high`."""

    log: bool
    low: float
    high: float

    @classmethod
    def of(cls, scale: str, numbers: Sequence[float]) -> _Axis:
        most = max(numbers, default=0.0) or 1.0
        if scale == "log":
            marks = [10.0**power * factor for power in range(-4, 10) for factor in _FACTORS]
            low = max(m for m in marks if m <= min((n for n in numbers if n > 0), default=1.0))
            high = min(m for m in marks if m >= most)
            return cls(True, low, high if high > low else 10 * low)
        if scale == "percent":
            return cls(False, 0.0, max(100.0, most))
        step = round_step(most, 5)
        return cls(False, 0.0, step * math.ceil(most / step))

    def y(self, number: float) -> float:
        if self.log:
            share = math.log10(max(number, self.low) / self.low) / math.log10(self.high / self.low)
        else:
            share = (number - self.low) / (self.high - self.low)
        return _TOP + _HEIGHT * (1 - share)

    def marks(self) -> Iterator[tuple[float, str]]:
        """Round numbers with their text."""
        if not self.log:
            step = round_step(self.high, 6)
            for number in range(int(self.high / step + 1e-9) + 1):
                yield number * step, f"{number * step:g}"
            return
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = _FACTORS if len(powers) <= _MOST_POWERS else (1,)
        for mark in (10.0**power * factor for power in powers for factor in factors):
            if self.low <= mark <= self.high:
                yield mark, f"{mark:g}"


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
