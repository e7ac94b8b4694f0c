"""Draw the picture of a tuning: time against each parameter, a panel for each, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_PANEL_WIDTH, _PANEL_HEIGHT = 280, 220
_LEFT, _TOP, _BOTTOM, _GAP = 64, 44, 48, 24

Point = tuple[Mapping[str, Any], "float | None"]


def chart(title: str, parameters: Sequence[str], points: Sequence[Point]) -> str:
    """`points` are configurations with their milliseconds. In each panel the values of a parameter
    stand side by side; a line joins the fastest of each, the fastest of all is red."""
    microseconds = [1e3 * (ms or 0.0) for _, ms in points]
    most = 1.05 * max(microseconds, default=1.0)
    heights = [_height_of(us, most) for us in microseconds]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("chart.svg.jinja").render(
        title=title,
        width=_LEFT + len(parameters) * (_PANEL_WIDTH + _GAP),
        height=_TOP + _PANEL_HEIGHT + _BOTTOM,
        left=_LEFT,
        top=_TOP,
        panel_width=_PANEL_WIDTH,
        panel_height=_PANEL_HEIGHT,
        steps=[(f"{step:g}", _height_of(step, most)) for step in _steps(most)],
        panels=[
            _panel(number, name, [_shown(config.get(name)) for config, _ in points], heights)
            for number, name in enumerate(parameters)
        ],
    )


def _panel(number: int, name: str, values: Sequence[Any], heights: Sequence[float]) -> Any:
    """Places of the values of a parameter, and of the times; the fastest is the lowest."""
    left = _LEFT + number * (_PANEL_WIDTH + _GAP)
    kinds = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    places = {v: left + (i + 0.5) * _PANEL_WIDTH / len(kinds) for i, v in enumerate(kinds)}
    points = [(places[v], y, y == max(heights)) for v, y in zip(values, heights, strict=True)]
    fastest = [(x, max(y for other, y, _ in points if other == x)) for x in places.values()]
    return {"left": left, "name": name, "places": places, "points": points, "fastest": fastest}


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
