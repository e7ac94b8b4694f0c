"""Write the parts of a picture as SVG that stands in a page, in a notebook and in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

# Colours that stand on light and on dark paper, and are told apart in most kinds of sight.
COLOURS = ("#1f77c9", "#c2570c", "#0d8f6b", "#9a55b8", "#a37200", "#b3008c", "#0f8299", "#7d8590")


def document(width: float, height: float, name: str, parts: Iterable[str], paper: str) -> str:
    """Return the picture. Its letters have the colour of the text around it; `name` is the text for
    screen readers, `paper` the colour behind it."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" style="max-width:100%" '
            'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" '
            f'fill="currentColor" aria-label="{escape(name)}">',
            f'<rect width="{width:g}" height="{height:g}" fill="{paper}"/>',
            *parts,
            "</svg>",
        ]
    )


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return words that begin at a place, or end there by their style."""
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, opacity: float = 0.15) -> str:
    """Return a line of a grid."""
    return (
        f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:g}" y2="{y2:g}" '
        f'stroke="currentColor" stroke-opacity="{opacity:g}"/>'
    )


def round_step(span: float, most: int) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that cuts a span into no more than `most`."""
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * s for s in (1, 2, 5, 10) if power * s >= rough)
