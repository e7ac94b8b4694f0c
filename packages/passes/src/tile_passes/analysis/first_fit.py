"""Where in a memory there is room between bytes that are taken."""

from __future__ import annotations

from collections.abc import Iterable

from tile_ir.footprint import round_up


def first_fit(start: int, size: int, taken: Iterable[tuple[int, int]], align: int) -> int:
    """The lowest aligned address from `start` with `size` bytes outside every taken [low, high)."""
    start = round_up(start, align)
    for low, high in sorted(taken):
        if start < high and low < start + size:
            start = round_up(high, align)
    return start
