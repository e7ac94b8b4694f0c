"""The picture of a tuning: time against each parameter, a panel for each, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

_PANEL_WIDTH, _PANEL_HEIGHT = 280, 220
_LEFT, _TOP, _BOTTOM, _GAP = 64, 44, 48, 24
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.t{font-size:13px;font-weight:bold}"
    ".p{fill:#4878a8;fill-opacity:.6}.b{fill:#d1495b}.l{fill:none;stroke:#9ab;stroke-width:1.5}"
    ".f{fill:none;stroke:#999}.g{stroke:#e4e4e4}"
)

Point = tuple[Mapping[str, Any], "float | None"]


def chart(title: str, parameters: Sequence[str], points: Sequence[Point]) -> str:
    """`points` are configurations with their milliseconds. In each panel the values of a parameter
    stand side by side; a line joins the fastest of each, the fastest of all is red."""
    width = _LEFT + len(parameters) * (_PANEL_WIDTH + _GAP)
    height = _TOP + _PANEL_HEIGHT + _BOTTOM
    microseconds = [1e3 * (ms or 0.0) for _, ms in points]
    most = 1.05 * max(microseconds, default=1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f'<style>{_STYLE}</style><rect width="{width}" height="{height}" fill="white"/>',
        _text(_LEFT, 20, title, "t"),
    ]
    for step in _steps(most):
        y = _height_of(step, most)
        parts.append(_text(_LEFT - 6, y + 4, f"{step:g}", anchor="end"))
        for number in range(len(parameters)):
            x = _LEFT + number * (_PANEL_WIDTH + _GAP)
            parts.append(f'<path class="g" d="M{x} {y:.1f}h{_PANEL_WIDTH}"/>')
    parts.append(_text(8, _TOP - 8, "µs"))
    for number, name in enumerate(parameters):
        left = _LEFT + number * (_PANEL_WIDTH + _GAP)
        values = [_shown(config.get(name)) for config, _ in points]
        parts += _panel(left, name, values, microseconds, most)
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    left: float, name: str, values: Sequence[Any], microseconds: Sequence[float], most: float
) -> list[str]:
    parts = [f'<rect class="f" x="{left}" y="{_TOP}" width="{_PANEL_WIDTH}" '
             f'height="{_PANEL_HEIGHT}"/>']  # fmt: skip
    kinds = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    place = {v: left + (i + 0.5) * _PANEL_WIDTH / len(kinds) for i, v in enumerate(kinds)}
    base = _TOP + _PANEL_HEIGHT
    parts += [_text(x, base + 16, v, anchor="middle") for v, x in place.items()]
    parts.append(_text(left + _PANEL_WIDTH / 2, base + 36, name, "t", "middle"))
    fastest = {
        v: min(us for other, us in zip(values, microseconds, strict=True) if other == v)
        for v in kinds
    }
    line = " ".join(f"{place[v]:.1f},{_height_of(us, most):.1f}" for v, us in fastest.items())
    parts.append(f'<polyline class="l" points="{line}"/>')
    best = min(microseconds, default=0.0)
    for value, us in zip(values, microseconds, strict=True):
        look = "b" if us == best else "p"
        y = _height_of(us, most)
        parts.append(f'<circle class="{look}" cx="{place[value]:.1f}" cy="{y:.1f}" r="4"/>')
    return parts


def _shown(value: object) -> float | str:
    """Numbers stand in order before all else, which stands by its text."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number else str(value)  # type: ignore[return-value]


def _height_of(microseconds: float, most: float) -> float:
    return _TOP + _PANEL_HEIGHT * (1 - microseconds / most)


def _steps(most: float) -> list[float]:
    """About five round numbers up to the most."""
    unit = 10.0 ** (len(str(int(most))) - 1)
    step = next(unit * part for part in (0.1, 0.2, 0.5, 1, 2) if most <= 6 * unit * part)
    return [i * step for i in range(int(most / step) + 1)]


def _text(x: float, y: float, text: object, look: str = "", anchor: str = "start") -> str:
    kind = f' class="{look}"' if look else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(text))}</text>'
