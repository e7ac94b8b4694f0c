"""Draw as SVG how much of something is at work over time: rows of areas over one axis of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.svg import document, line, round_step, text

LEFT, PLOT = 118.0, 720.0
_RIGHT, _TOP, _ROW, _BAR = 52.0, 40.0, 20.0, 15.0


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """Shares from 0 to 1 in steps of equal length. Rows of one `group` stand together; the `kind`
    decides the colour."""

    group: str
    label: str
    kind: str
    shares: Any


@dataclass(frozen=True, slots=True)
class ActivityKind:
    """The colour of a kind of rows, and what it means in the legend."""

    colour: str
    meaning: str


def activity_picture(
    rows: Sequence[ActivityRow],
    kinds: Mapping[str, ActivityKind],
    microseconds: float,
    name: str,
    paper: str = "none",
) -> str:
    """Draw the picture. The height of a row is a share of 1; at its right stands the mean. `name`
    is the text for screen readers, `paper` the colour behind it."""
    groups = list(dict.fromkeys(row.group for row in rows))
    height = _TOP + _ROW * len(rows) + 8 * len(groups) + 4
    parts = [*_axis(microseconds, height), *_legend(rows, kinds)]
    y, group = _TOP, ""
    for row in rows:
        if row.group != group:
            group, y = row.group, y + 8
            parts.append(text(2, y + 12, group, "font-weight:600"))
        parts += _drawn(row, kinds[row.kind], y)
        y += _ROW
    width = LEFT + PLOT + _RIGHT
    return document(width, height, name, parts, paper)


def _drawn(row: ActivityRow, kind: ActivityKind, y: float) -> Iterator[str]:
    """The label of a row, its shares as an area, and their mean."""
    mean = f"{float(row.shares.mean()):.0%}"
    yield text(LEFT - 8, y + 12, row.label, "text-anchor:end")
    yield (
        f'<rect x="{LEFT:g}" y="{y:g}" width="{PLOT:g}" height="{_BAR:g}" fill="currentColor" '
        'fill-opacity="0.06"/>'
    )
    yield (
        f'<path d="{_area(row.shares.tolist(), y + _BAR)}" fill="{kind.colour}">'
        f"<title>{escape(f'{row.group}, {row.label}: {kind.meaning}, {mean}')}</title></path>"
    )
    yield text(LEFT + PLOT + 6, y + 12, mean, "opacity:.75")


def _area(shares: Sequence[float], base: float) -> str:
    """Steps of equal width upwards from a base line; equal ones are one."""
    width = PLOT / len(shares)
    path, at = [f"M{LEFT:g} {base:g}"], -1.0
    for step, share in enumerate(shares):
        high = round(base - _BAR * share, 1)
        if high != at:
            path.append(f"H{LEFT + step * width:.4g}V{high:g}")
            at = high
    return "".join([*path, f"H{LEFT + PLOT:g}V{base:g}Z"])


def _axis(microseconds: float, height: float) -> Iterator[str]:
    """A line and a number at round times."""
    step = round_step(microseconds, 8)
    digits = max(0, -math.floor(math.log10(step)))
    for number in range(int(microseconds / step) + 1):
        x = LEFT + number * step / microseconds * PLOT
        yield line(x, _TOP - 6, x, height - 4)
        unit = " µs" if number == 0 else ""
        words = f"{number * step:.{digits}f}{unit}"
        yield text(x, _TOP - 10, words, "text-anchor:middle;opacity:.75")


def _legend(rows: Sequence[ActivityRow], kinds: Mapping[str, ActivityKind]) -> Iterator[str]:
    """Draw the meaning of each colour that occurs."""
    x, found = LEFT, {row.kind for row in rows}
    for name, kind in kinds.items():
        if name in found:
            yield f'<rect x="{x:g}" y="3" width="10" height="10" fill="{kind.colour}"/>'
            yield text(x + 14, 12, kind.meaning, "opacity:.85")
            x += 6.1 * len(kind.meaning) + 34
