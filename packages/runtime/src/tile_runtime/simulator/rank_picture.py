"""Draw a timed launch over several ranks as SVG: what each rank does over time, and each link."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tile_runtime.simulator.rank_activity import (
    CUBE,
    SENDS,
    VECTOR,
    WAITS,
    Activity,
    rank_activities,
    sent_together,
    shown_cycles,
)
from tile_runtime.simulator.rank_times import RankTimes

COLOURS = {CUBE: "#c2570c", VECTOR: "#1f77c9", WAITS: "#8c959f", SENDS: "#8a3ea8"}
MEANINGS = {
    CUBE: "cube cores at work",
    VECTOR: "vector cores at work",
    WAITS: "cores that wait for other ranks",
    SENDS: "bytes to other ranks, of the peak rate",
}
# Beyond so many ranks, what one of them sends is one row.
_MOST_LINKED = 4
_STEPS = 240
# What a row has in the mean at least, to be worth one.
_LEAST = 0.0005
_LEFT, _PLOT, _RIGHT, _TOP, _ROW, _BAR = 118.0, 720.0, 52.0, 40.0, 20.0, 15.0


def rank_picture(times: RankTimes, paper: str = "none") -> str:
    """The picture. The height of a row is all cores of the rank, or the peak rate of the link; at
    its right stands the mean over the launch. `paper` is the colour behind it."""
    rows = [row for row in rank_activities(times, _STEPS) if row.shares.mean() >= _LEAST]
    if times.ranks > _MOST_LINKED:
        rows = [*sent_together(rows)]
    height = _TOP + _ROW * len(rows) + 8 * times.ranks + 4
    parts = [*_axis(shown_cycles(times) / times.whole.mhz, height), *_legend(rows)]
    y, rank = _TOP, -1
    for row in rows:
        if row.rank != rank:
            rank, y = row.rank, y + 8
            parts.append(_text(2, y + 12, f"rank {rank}", "font-weight:600"))
        parts += _drawn(row, y)
        y += _ROW
    width = _LEFT + _PLOT + _RIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" style="max-width:100%" '
            'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" '
            f'fill="currentColor" aria-label="{times.ranks} ranks over time">',
            f'<rect width="{width:g}" height="{height:g}" fill="{paper}"/>',
            *parts,
            "</svg>",
        ]
    )


def _drawn(row: Activity, y: float) -> Iterator[str]:
    """The label of a row, its shares as an area, and their mean."""
    mean = f"{float(row.shares.mean()):.0%}"
    yield _text(_LEFT - 8, y + 12, row.label, "text-anchor:end")
    yield (
        f'<rect x="{_LEFT:g}" y="{y:g}" width="{_PLOT:g}" height="{_BAR:g}" fill="currentColor" '
        'fill-opacity="0.06"/>'
    )
    yield (
        f'<path d="{_area(row.shares.tolist(), y + _BAR)}" fill="{COLOURS[row.kind]}">'
        f"<title>rank {row.rank}, {escape(row.label)}: {MEANINGS[row.kind]}, {mean}</title></path>"
    )
    yield _text(_LEFT + _PLOT + 6, y + 12, mean, "opacity:.75")


def _area(shares: Sequence[float], base: float) -> str:
    """Steps of equal width upwards from a base line; equal ones are one."""
    width = _PLOT / len(shares)
    path, at = [f"M{_LEFT:g} {base:g}"], -1.0
    for step, share in enumerate(shares):
        high = round(base - _BAR * share, 1)
        if high != at:
            path.append(f"H{_LEFT + step * width:.4g}V{high:g}")
            at = high
    return "".join([*path, f"H{_LEFT + _PLOT:g}V{base:g}Z"])


def _axis(microseconds: float, height: float) -> Iterator[str]:
    """A line and a number at round times."""
    rough = microseconds / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * s for s in (1, 2, 5, 10) if power * s >= rough)
    digits = max(0, -math.floor(math.log10(step)))
    for number in range(int(microseconds / step) + 1):
        x = _LEFT + number * step / microseconds * _PLOT
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6:g}" y2="{height - 4:g}" '
            'stroke="currentColor" stroke-opacity="0.15"/>'
        )
        unit = " µs" if number == 0 else ""
        words = f"{number * step:.{digits}f}{unit}"
        yield _text(x, _TOP - 10, words, "text-anchor:middle;opacity:.75")


def _legend(rows: Sequence[Activity]) -> Iterator[str]:
    """What each colour that occurs means."""
    x, kinds = _LEFT, {row.kind for row in rows}
    for kind, meaning in MEANINGS.items():
        if kind in kinds:
            yield f'<rect x="{x:g}" y="3" width="10" height="10" fill="{COLOURS[kind]}"/>'
            yield _text(x + 14, 12, meaning, "opacity:.85")
            x += 6.1 * len(meaning) + 34


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(words)}</text>'
