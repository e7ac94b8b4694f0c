"""Bytes of buffers that somebody may still read, each with the line of the next reader."""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir.location import Loc
from tile_ir.nodes import Buffer

# Disjoint and in order: from, to, who reads.
Spans = tuple[tuple[float, float, Loc], ...]
Live = Mapping[Buffer, Spans]


def without(spans: Spans, low: float, high: float) -> Spans:
    if not spans:
        return spans
    result = []
    for a, b, loc in spans:
        if a < low:
            result.append((a, min(b, low), loc))
        if b > high:
            result.append((max(a, high), b, loc))
    return tuple(result)


def union(a: Live, b: Live) -> Live:
    """All bytes of both; where both have a reader, that of the first."""
    if a is b or not b:
        return a
    result = dict(a)
    for buffer, spans in b.items():
        mine = result.get(buffer, ())
        for low, high, _ in mine:
            spans = without(spans, low, high)
        if spans:
            result[buffer] = tuple(sorted((*mine, *spans)))
    return result


def same_bytes(a: Live, b: Live) -> bool:
    return {k: v for k, v in a.items() if v} == {k: v for k, v in b.items() if v}


__all__ = ["Live", "Spans", "same_bytes", "union", "without"]
