"""From where to where in the text scratch is used, in the innermost block with all its uses. There
its life begins anew (`liveness`), so that it holds nothing outside of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_ir import Alloc, Body, Buffer, bodies, buffers_of
from tile_passes.analysis.live_ranges import LiveRange

Spans = dict[Buffer, tuple[int, int]]


def scratch_spans(allocs: Sequence[Alloc], body: Body) -> dict[Buffer, LiveRange]:
    """One interval of points for each piece of scratch that is used; an alias is its buffer."""
    roots = {a.buffer: a.alias_of or a.buffer for a in allocs if a.scratch}
    found, _ = _spans(body, 0, roots)
    return {buffer: (span,) for buffer, span in found.items()}


def _spans(body: Body, point: int, roots: Mapping[Buffer, Buffer]) -> tuple[Spans, int]:
    """Those of a block that begins at a point, and the point behind it."""
    found: Spans = {}
    begin: dict[Buffer, int] = {}
    for stmt in body:
        first = point
        own = {roots[b] for b in buffers_of(stmt) & roots.keys()}
        inner: list[Spans] = []
        point += 1
        for block in bodies(stmt):
            spans, point = _spans(block, point, roots)
            inner.append(spans)
        for buffer in own.union(*inner):
            inside = [spans[buffer] for spans in inner if buffer in spans]
            if buffer in found:
                found[buffer] = begin[buffer], point - 1
            elif buffer in own or len(inside) > 1:
                found[buffer] = first, point - 1
            else:
                found[buffer] = inside[0]
            begin.setdefault(buffer, first)
    return found, point


__all__ = ["scratch_spans"]
