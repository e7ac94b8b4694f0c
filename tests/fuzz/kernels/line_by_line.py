"""Kernels written by hand: text in which every statement gets a line of its own as its place."""

from __future__ import annotations

import tile_ir
from tile_ir import Func


def line_by_line(head: str, text: str, behind: str, first: int = 2) -> Func:
    """The kernel of a head, statements without places, and what closes the head."""
    lines = []
    for number, line in enumerate(text.splitlines(), first):
        opened = line.removesuffix(" {")
        at = "" if line.startswith("}") else f" @0:{number}:1"
        lines.append(f"{opened}{at}{line[len(opened) :]}\n")
    return tile_ir.parse(head + "".join(lines) + behind)
