"""Pictures of measured kernels as SVG: all of them under the roofline of the chip, and how busy
each pipe is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from pages.kernel_times import PIPES, Measured

# By the part of the chip that bounds a kernel.
COLOUR = {"HBM": "#1565c0", "matrix units": "#2e7d32", "vector units": "#c62828"}
_STYLE = """
text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #212121; }
.soft { fill: #616161; } .head { font-weight: 600; } .end { text-anchor: end; }
.middle { text-anchor: middle; } .number { font-size: 11px; font-weight: 600; }
.grid { stroke: #eeeeee; } .roof { stroke: #424242; stroke-width: 1.6; fill: none; }
.leader { stroke: #9e9e9e; stroke-width: 0.8; } .track { fill: #f0f0f0; }
"""


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, words: str, names: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{names}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{name}"/>'


class _Axes:
    """Logarithmic axes: powers of two of operations a byte, of ten of operations a second."""

    left, top, right, bottom = 86.0, 44.0, 646.0, 470.0
    low, high = -2, 12
    slow, fast = 10, 15

    def x(self, intensity: float) -> float:
        share = (math.log2(intensity) - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def y(self, rate: float) -> float:
        share = (math.log10(rate) - self.slow) / (self.fast - self.slow)
        return self.bottom - share * (self.bottom - self.top)

    def draw(self) -> Iterator[str]:
        for power in range(self.low, self.high + 1):
            at = self.x(2.0**power)
            yield _line(at, self.top, at, self.bottom, "grid")
            label = str(2**power) if power >= 0 else f"1/{2**-power}"
            yield _text(at, self.bottom + 18, label, "soft middle")
        names = ("10 G", "100 G", "1 T", "10 T", "100 T", "1 P")
        for power, name in zip(range(self.slow, self.fast + 1), names, strict=True):
            at = self.y(10.0**power)
            yield _line(self.left, at, self.right, at, "grid")
            yield _text(self.left - 8, at + 4, name, "soft end")
        middle = (self.left + self.right) / 2
        yield _text(middle, self.bottom + 38, "operations a byte of operands", "soft middle")
        yield _text(14, self.top - 18, "operations a second", "soft")


def roofline_picture(kernels: Sequence[Measured]) -> str:
    """Operations a second over operations a byte; a kernel is a point with its number, below the
    roof of memory and that of the units that calculate."""
    axes = _Axes()
    parts = [*axes.draw(), *_roofs(axes, kernels[0])]
    points = {
        number: (
            axes.x(k.roofline.operations / k.roofline.bytes),
            axes.y(k.roofline.operations / k.roofline.seconds),
        )
        for number, k in enumerate(kernels, 1)
    }
    labels = _apart(points)
    parts += [_line(*points[n], *labels[n], "leader") for n in points]
    for number, k in enumerate(kernels, 1):
        (x, y), (to_x, to_y) = points[number], labels[number]
        colour = COLOUR[k.roofline.bound]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
        parts.append(
            f'<circle cx="{to_x:.1f}" cy="{to_y:.1f}" r="9" fill="#ffffff" stroke="{colour}"/>'
        )
        parts.append(_text(to_x, to_y + 4, str(number), "number middle"))
        row = axes.top + 18 * number
        parts.append(_text(694, row, str(number), "number end"))
        parts.append(_text(702, row, k.case.name))
        parts.append(_text(890, row, f"{100 * k.roofline.share:.0f} %", "end"))
    parts.append(_text(702, axes.top, "kernel", "head"))
    parts.append(_text(890, axes.top, "of its roof", "head end"))
    below = axes.top + 18 * (len(kernels) + 2)
    for number, (bound, colour) in enumerate(COLOUR.items()):
        parts.append(f'<circle cx="690" cy="{below + 18 * number - 4}" r="5" fill="{colour}"/>')
        parts.append(_text(702, below + 18 * number, f"bound by {bound}", "soft"))
    return _svg(910, max(520, below + 18 * len(COLOUR)), parts)


def _roofs(axes: _Axes, k: Measured) -> Iterator[str]:
    """Up the slope of memory to each peak, and along it."""
    for peak, name in (
        (k.cube_peak, "cube cores, float16"),
        (k.vector_peak, "vector cores, float32"),
    ):
        start, ridge = 2.0**axes.low, peak / k.hbm
        corners = ((start, start * k.hbm), (ridge, peak), (2.0**axes.high, peak))
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in corners)
        yield f'<polyline points="{path}" class="roof"/>'
        label = f"{name}: {peak / 1e12:.3g} T"
        yield _text(axes.x(ridge) + 8, axes.y(peak) + 16, label, "soft")
    slope = f"HBM: {k.hbm / 1e12:.2g} TB/s"
    yield _text(axes.x(24) - 8, axes.y(24 * k.hbm) - 4, slope, "soft end")


def _apart(points: Mapping[int, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """A place for the number of each point, near it and over no other point or number."""
    placed: dict[int, tuple[float, float]] = {}
    for number, (x, y) in points.items():
        taken = [*placed.values(), *points.values()]
        rounds = ((r, turn) for r in range(16, 160, 6) for turn in range(16))
        near = ((x + r * math.sin(t * math.pi / 8), y + r * math.cos(t * math.pi / 8))
                for r, t in rounds)  # fmt: skip
        placed[number] = next(
            place for place in near
            if all(math.dist(place, other) > (20 if other in placed.values() else 13)
                   for other in taken)
        )  # fmt: skip
    return placed


def pipes_picture(kernels: Sequence[Measured]) -> str:
    """A row for each kernel, and in it how much of the time each pipe is busy."""
    left, column, row, top = 218, 92, 22, 58
    parts = [
        _text(left, 20, "cube core", "head"),
        _text(left + 4 * column, 20, "vector cores", "head"),
    ]
    parts += [_text(left + column * n, 42, pipe, "soft") for n, (_, pipe) in enumerate(PIPES)]
    for number, k in enumerate(kernels):
        y = top + row * number
        parts.append(_text(140, y + 12, k.case.name, "end"))
        parts.append(_text(206, y + 12, f"{k.microseconds:.0f} µs", "soft end"))
        colour = COLOUR[k.roofline.bound]
        for place, pipe in enumerate(PIPES):
            share = min(1.0, k.busy.get(pipe, 0.0))
            x, width = left + column * place, column - 12
            parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="16" class="track"/>')
            if share:
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{width * share:.1f}" height="16" '
                    f'fill="{colour}" opacity="0.55"/>'
                )
                parts.append(_text(x + width - 4, y + 12, f"{100 * share:.0f}", "end"))
    return _svg(left + column * len(PIPES) + 8, top + row * len(kernels) + 10, parts)
