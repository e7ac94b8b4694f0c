"""Where in a memory there is room: the bytes that are taken, the gaps between them, and the one
routine that finds a place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tile_ir import round_up
from tile_passes.analysis.byte_sets import Spans, union

# Bytes from the first to the one behind the last; several are ascending and do not overlap.
Bytes = tuple[int, int]


def taken(fixed: Iterable[Bytes], align: int) -> Spans:
    """The whole units of `align` bytes that some bytes are part of."""
    return union((low // align * align, round_up(high, align)) for low, high in fixed)


def gaps(fixed: Iterable[Bytes], align: int, capacity: int) -> tuple[Bytes, ...]:
    """The whole units of a memory that are free between some bytes."""
    capacity = capacity // align * align
    found = []
    start = 0
    for low, high in (*taken(fixed, align), (capacity, capacity)):
        if min(low, capacity) > start:
            found.append((start, min(low, capacity)))
        start = max(start, high)
    return tuple(found)


def lowest_place(
    gaps: Sequence[Bytes], size: int, start: int = 0, others: Sequence[Bytes] = ()
) -> int | None:
    """The lowest address from `start` on with `size` bytes inside one gap and beside all `others`,
    which ascend by where they begin and may overlap. None if there is no such place."""
    for low, high in gaps:
        address = max(low, start)
        for begin, end in others:
            if begin >= address + size:
                break
            address = max(address, end)
        if address + size <= high:
            return address
    return None
