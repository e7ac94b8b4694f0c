"""Find parts of buffers and tensors that may leave their row (docs/use/checks.md).

The generated code passes these parts to the simulator. Without help the simulator sees only
accesses that leave the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tile_ir import (
    ONE,
    Binary,
    Buffer,
    Const,
    Expr,
    Memory,
    Op,
    Region,
    Slice,
    Store,
    accesses,
    constant_value,
    simplify,
)
from tile_ir.analysis import Ranges, interval


class Window(NamedTuple):
    """So many elements from an offset on, along a dimension of that size."""

    buffer: Buffer
    dimension: int
    offset: Expr
    extent: Expr
    size: Expr


def uncertain_windows(stmt: Op | Store, known: Ranges) -> Iterator[Window]:
    """Slices of the statement's operands that the ranges of variables do not prove to lie inside
    dimensions which others stand before."""
    if isinstance(stmt, Store):
        regions = [Region(stmt.buffer, tuple(Slice(i, ONE) for i in stmt.indices))]
    else:
        regions = [region for region, _ in accesses(stmt)]
    seen: set[Window] = set()
    for region in regions:
        if region.memory is Memory.VAR:
            continue
        for window in _inner(region):
            if window not in seen and not _surely_inside(window, known):
                seen.add(window)
                yield window


def _inner(region: Region) -> Iterator[Window]:
    """The slices of all dimensions but those that nothing lies before. The verifier has checked
    those of constants."""
    shape, others = region.buffer.shape, False
    for dimension, (s, size) in enumerate(zip(region.dims, shape, strict=True)):
        if not others:
            others = constant_value(size) != 1
        elif not (
            isinstance(s.offset, Const) and isinstance(s.extent, Const) and isinstance(size, Const)
        ):
            reach = s.extent if s.stride == 1 else simplify((s.extent - 1) * s.stride + 1)
            yield Window(region.buffer, dimension, s.offset, reach, size)


def _surely_inside(w: Window, known: Ranges) -> bool:
    return interval(w.offset, known).low >= 0 and any(
        interval(simplify(w.offset + most - w.size), known).high <= 0 for most in _bounds(w.extent)
    )


def _bounds(extent: Expr) -> Iterator[Expr]:
    """Expressions that an extent does not exceed where it is above 0, among them the room in its
    dimension to which a copy is cut."""
    match extent:
        case Binary(op="min", left=left, right=right):
            yield from _bounds(left)
            yield from _bounds(right)
        case Binary(op="max", left=room, right=right) if constant_value(right) == 0:
            yield room
        case Binary(op="max", left=left, right=room) if constant_value(left) == 0:
            yield room
    yield extent
