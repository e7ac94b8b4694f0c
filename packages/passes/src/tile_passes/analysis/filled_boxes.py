"""Find the tiles that operations write, with the boxes of them that hold values."""

from __future__ import annotations

from math import prod

from tile_ir import (
    Buffer,
    Expr,
    Func,
    Memory,
    Region,
    Store,
    accesses,
    constant_value,
    is_constant,
    walk,
    walk_ops,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.uses_in_text import uses_in_text

# The sizes of a part of a buffer that begins with its first element.
Box = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class FilledBoxes:
    """`boxes` are the largest that one operation fills. The tiles `in_part` may be read where no
    operation has written them, nor a store an element: none fills all that is read, nor a row or a
    slot of it."""

    boxes: dict[Buffer, Box]
    in_part: frozenset[Buffer]


def filled_boxes(func: Func) -> FilledBoxes:
    """Those of the tiles on chip that operations write."""
    written = [
        r
        for op in walk_ops(func.launch.body)
        for r, access in accesses(op)
        if access.writes and r.buffer.memory is not Memory.GM
    ]
    boxes: dict[Buffer, Box] = {}
    lines: dict[Buffer, Box] = {}
    for region in written:
        for kept, line in ((boxes, False), (lines, True)):
            box, known = _box(region, line), kept.get(region.buffer)
            if box is not None and (known is None or _count(box) > _count(known)):
                kept[region.buffer] = box
    stored = {s.buffer for s in walk(func.launch.body) if isinstance(s, Store)}
    views = {b for a in func.launch.allocs if a.alias_of for b in (a.buffer, a.alias_of)}
    full = {tile for tile, box in lines.items() if box == tile.shape}
    asked = {r.buffer for r in written} - full - stored - views
    return FilledBoxes(boxes, _read_beyond(func, asked, lines))


def _box(region: Region, lines: bool) -> Box | None:
    """The sizes of the region, if it begins with the first element; with `lines`, one of several
    rows or slots stands for all of them."""
    found: list[Expr] = []
    for part, size in zip(region.dims, region.buffer.shape, strict=True):
        if lines and is_constant(part.extent, 1):
            found.append(size)
        elif part.stride == 1 and is_constant(part.offset, 0) and constant_value(part.extent):
            found.append(part.extent)
        else:
            return None
    return tuple(found)


def _count(box: Box) -> int:
    return prod(int(constant_value(size) or 0) for size in box)


def _read_beyond(func: Func, tiles: set[Buffer], lines: dict[Buffer, Box]) -> frozenset[Buffer]:
    """Those of the tiles of which elements outside of the box may be read."""
    if not tiles & lines.keys():
        return frozenset(tiles)
    uses = uses_in_text(func)
    inside = {
        tile
        for tile in tiles & lines.keys()
        if all(_lies_in(u.indices, lines[tile], u.around.known) for u in uses.get(tile, ()))
    }
    return frozenset(tiles - inside)


def _lies_in(indices: tuple[Expr, ...], box: Box, known: Ranges) -> bool:
    spans = (
        (interval(i, known), constant_value(size)) for i, size in zip(indices, box, strict=True)
    )
    return all(s.low >= 0 and size is not None and s.high < size for s, size in spans)
