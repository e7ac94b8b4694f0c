"""Find buffers that may lie on the same bytes although one operation touches both: its result takes
the place of an operand's last value. Not here: whether that is worth it (`plan_memory`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tile_ir import Op, Region, accesses, loads
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.liveness import Liveness, Point, numbers_in


@dataclass(frozen=True, slots=True)
class InPlacePair:
    """At this point the buffer `result` begins where `source` ends, element for element."""

    point: int
    source: int
    result: int


def in_place_pairs(live: Liveness) -> list[InPlacePair]:
    """Every pair, in textual order. The operation works element by element and its record allows
    the very same elements (the rule `operand-overlap`). Both buffers are used whole, with the same
    extents and elements of the same size."""
    found = []
    for position, point in enumerate(live.points):
        op = point.stmt
        if not point.defined or not isinstance(op, Op):
            continue
        if op.opdef.may_alias and op.opdef.elementwise:
            found += [InPlacePair(position, s, r) for s, r in _pairs(op, point, live)]
    return found


def places(pairs: Iterable[InPlacePair]) -> dict[tuple[int, int], set[int]]:
    """For two buffers, in either order, the points at which one may take the other's place."""
    found: dict[tuple[int, int], set[int]] = {}
    for p in pairs:
        for pair in ((p.source, p.result), (p.result, p.source)):
            found.setdefault(pair, set()).add(p.point)
    return found


def _pairs(op: Op, point: Point, live: Liveness) -> Iterator[tuple[int, int]]:
    ending = point.read & ~point.needed
    if not ending:
        return
    regions: dict[int, list[Region]] = {}
    for region, _ in accesses(op):
        if region.buffer in live.roots:
            regions.setdefault(live.roots[region.buffer], []).append(region)
    by_scalar = {live.roots[e.buffer] for e in loads(op) if e.buffer in live.roots}
    for result in numbers_in(point.defined):
        (written, *more) = regions[result]
        if more or not written.is_whole():
            continue
        for source in numbers_in(ending):
            read = regions.get(source, ())
            if read and source not in by_scalar and all(_same_elements(r, written) for r in read):
                yield source, result


def _same_elements(read: Region, written: Region) -> bool:
    return (
        read.is_whole()
        and read.memory is written.memory
        and read.dtype.bits == written.dtype.bits
        and read.static_extents() == written.static_extents()
    )
