"""Sets of bytes as disjoint intervals in ascending order; intervals that touch are one."""

from __future__ import annotations

from collections.abc import Iterable

Spans = tuple[tuple[float, float], ...]


def union(spans: Iterable[tuple[float, float]]) -> Spans:
    """Return the bytes of all intervals."""
    result: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if result and low <= result[-1][1]:
            result[-1] = result[-1][0], max(high, result[-1][1])
        elif low < high:
            result.append((low, high))
    return tuple(result)


def without(spans: Spans, low: float, high: float) -> Spans:
    """Return the bytes outside [low, high)."""
    ends = ((a, min(b, low), max(a, high), b) for a, b in spans)
    return union(part for a, b, c, d in ends for part in ((a, b), (c, d)) if part[0] < part[1])


def common(one: Spans, other: Spans) -> Spans:
    """Return the bytes of both sets."""
    both = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return union((low, high) for low, high in both if low < high)


__all__ = ["Spans", "common", "union", "without"]
