"""Live ranges: the points of a function, in textual order, at which a buffer holds something that
is still needed. They may have holes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate

from tile_passes.analysis import byte_sets

# Intervals of points, both ends included, ascending, with a hole between any two.
LiveRange = tuple[tuple[int, int], ...]


def without_holes(live: LiveRange) -> LiveRange:
    """From the first point to the last."""
    return ((live[0][0], live[-1][1]),) if live else ()


def union(intervals: Iterable[tuple[int, int]]) -> LiveRange:
    """All points of some intervals."""
    joined = byte_sets.union((low, high + 1) for low, high in intervals)
    return tuple((low, end - 1) for low, end in joined)


def interfere(a: LiveRange, b: LiveRange, except_at: Collection[int] = ()) -> bool:
    """Whether a point, other than those excepted, is in both."""
    for low, high in a:
        for start, end in b:
            first, last = max(low, start), min(high, end)
            if last - first >= len(except_at):
                return True
            if any(p not in except_at for p in range(first, last + 1)):
                return True
    return False


def pressure(live: Sequence[LiveRange], sizes: Mapping[int, int]) -> list[int]:
    """The bytes that are live at each point up to the last one, of the buffers whose sizes are
    given."""
    end = max((high for number in sizes for _, high in live[number]), default=-1)
    change = [0] * (end + 2)
    for number, size in sizes.items():
        for low, high in live[number]:
            change[low] += size
            change[high + 1] -= size
    return list(accumulate(change[:-1]))
