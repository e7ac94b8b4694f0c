"""Bytes of buffers that somebody may still read, each with the line of the next reader.

A part whose place depends on variables is kept by its region: whatever these are, the part is
defined by a write to the very same region, while they stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tile_ir.analysis.circumstances import Circumstances
from tile_ir.expr import Const, Var, reads_memory, walk_expr
from tile_ir.location import Loc
from tile_ir.nodes import Buffer, For, Let, Region, While
from tile_ir.scalars.affine import simplify
from tile_ir.traversal import walk

# Disjoint and in order: from, to, who reads.
Spans = tuple[tuple[float, float, Loc], ...]
Live = Mapping[Buffer | Region, Spans]


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


def moving_part(region: Region, here: Circumstances) -> Region | None:
    """A region whose place depends on variables, in one spelling; None for one that does not, and
    for one that depends on memory."""
    if all(isinstance(s.offset, Const) and isinstance(s.extent, Const) for s in region.dims):
        return None
    dims = [
        replace(s, offset=simplify(here.spelled(s.offset)), extent=simplify(here.spelled(s.extent)))
        for s in region.dims
    ]
    if any(reads_memory(e) for s in dims for e in (s.offset, s.extent)):
        return None
    return Region(region.buffer, tuple(dims))


def in_other_rounds(
    live: Live, loop: For | While, root_of: Callable[[Buffer | Region], Buffer]
) -> Live:
    """What is live where a round of a loop begins, told behind the round before and before the
    loop: variables of the loop have other values there. Of readers inside and behind the loop those
    inside are told."""
    if not any(isinstance(part, Region) for part in live):
        return live
    bound = {s.var for s in walk((loop,)) if isinstance(s, (For, Let))}
    inside: Live = {}
    kept: dict[Buffer | Region, Spans] = {}
    for part, spans in live.items():
        if isinstance(part, Region) and not bound.isdisjoint(_variables(part)):
            inside = union(inside, {root_of(part): spans})
        else:
            kept[part] = spans
    return union(inside, kept)


def _variables(region: Region) -> set[Var]:
    found = (e for s in region.dims for own in (s.offset, s.extent) for e in walk_expr(own))
    return {e for e in found if isinstance(e, Var)}


def same_bytes(a: Live, b: Live) -> bool:
    return {k: v for k, v in a.items() if v} == {k: v for k, v in b.items() if v}


__all__ = [
    "Live",
    "Spans",
    "in_other_rounds",
    "moving_part",
    "same_bytes",
    "union",
    "without",
]
