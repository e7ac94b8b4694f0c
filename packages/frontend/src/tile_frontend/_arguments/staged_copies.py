"""Copies from one tensor to another: through a tile of ub, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.element_nests import as_one, new_tile
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import (
    OPS,
    Const,
    Expr,
    For,
    LoopKind,
    Region,
    Slice,
    Stmt,
    ceildiv,
    constant_value,
    minimum,
    simplify,
)

# Bytes of one piece: the rate of a link is reached from 16 KB on, and two pieces are under way.
PIECE_BYTES = 32768


def staged_copy(src: Region, dst: Region) -> Pending:
    """The copy as a loop over pieces, one of which is loaded while the one before is stored. Raises
    Fault where the two have not the same extents, or other element types."""
    trace = current("copy")
    extents = _extents(src, dst)
    if src.dtype != dst.dtype:
        message = f"copy: src `{src.buffer.name}` is {src.dtype}, but dst `{dst.buffer.name}` is "
        raise Fault("dtype-mismatch", f"{message}{dst.dtype}", "cast in a tile of ub", "dst")
    whole, taken = _whole_dims(extents, PIECE_BYTES // src.dtype.size)
    split = whole - 1
    sizes: tuple[Expr, ...] = tuple(extents[whole:])
    loops: list[tuple[int, Expr]] = [(dim, extents[dim]) for dim in range(max(split, 0))]
    places: dict[int, Slice] = {}
    if split >= 0:
        step = min(taken, constant_value(extents[split]) or taken)
        sizes = (Const(step), *sizes)
        loops.append((split, simplify(ceildiv(extents[split], Const(step)))))
    counters = {dim: trace.loop_variable("piece") for dim, _ in loops}
    for dim, counter in counters.items():
        places[dim] = Slice(counter, Const(1))
    if split >= 0:
        start = simplify(counters[split] * step)
        left = simplify(minimum(extents[split] - start, Const(step)))
        places[split] = Slice(start, left)
    tile = new_tile(src.dtype, sizes, f"{src.buffer.name}_piece")
    held = [places[split].extent, *extents[whole:]] if split >= 0 else list(extents)
    on_chip = Region(tile.buffer, tuple(Slice(Const(0), e) for e in held))
    moves = [
        build_op(OPS["copy"], {"src": _part(src, extents, places), "dst": on_chip}, "copy"),
        build_op(OPS["copy"], {"src": on_chip, "dst": _part(dst, extents, places)}, "copy"),
    ]
    for move in moves:
        trace.pending.remove(move)
    body: tuple[Stmt, ...] = tuple(move.stmt for move in moves)
    for number, (dim, count) in enumerate(reversed(loops)):
        kind = LoopKind.PIPELINED if number == 0 else LoopKind.SERIAL
        stages = 2 if number == 0 else 0
        body = (For(counters[dim], Const(0), count, kind, body, trace.here, stages),)
    return as_one(body, "copy")


def _extents(src: Region, dst: Region) -> list[Expr]:
    """The sizes of both sides but for those of one element."""
    sides = [[simplify(e) for e in r.extents if constant_value(e) != 1] for r in (src, dst)]
    if sides[0] != sides[1]:
        message = f"copy: the part of `{src.buffer.name}` and that of `{dst.buffer.name}` differ"
        raise Fault("shape-mismatch", message, "slice both sides to one shape", "dst")
    return sides[0] or [Const(1)]


def _whole_dims(extents: Sequence[Expr], most: int) -> tuple[int, int]:
    """The first of the dimensions that a piece has whole, and how many of the one before fit."""
    room, first = most, len(extents)
    while first > 0:
        size = constant_value(extents[first - 1])
        if size is None or size > room:
            break
        room, first = room // size, first - 1
    return first, max(room, 1)


def _part(region: Region, extents: Sequence[Expr], places: dict[int, Slice]) -> Region:
    """The piece of one side."""
    dims, number = [], 0
    for s in region.dims:
        if constant_value(s.extent) == 1:
            dims.append(s)
            continue
        place = places.get(number)
        if place is not None:
            s = Slice(simplify(s.offset + place.offset), place.extent, s.stride)
        dims.append(s)
        number += 1
    return Region(region.buffer, tuple(dims))
