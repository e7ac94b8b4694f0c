"""Build `T.any_of` and `T.all_of`: whether elements of a tile are not zero."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, whole_region
from tile_frontend._arguments.element_nests import element, for_each, new_tile, stored
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, unexpected
from tile_frontend._tracing.trace import current
from tile_ir import (
    BOOL,
    FLOAT32,
    OPS,
    Const,
    Load,
    Memory,
    Region,
    element_count,
    not_equal,
    select,
    simplify,
)


def any_of(buffer: Any) -> Scalar:
    """Whether any element of a tile, or of a part of it, is not zero."""
    return _asked("any_of", buffer, "reduce_max")


def all_of(buffer: Any) -> Scalar:
    """Whether no element of a tile, or of a part of it, is zero."""
    return _asked("all_of", buffer, "reduce_min")


def _asked(name: str, buffer: Any, reduction: str) -> Scalar:
    """Ones and zeros, of which the vector unit finds the largest or smallest; the scalar unit reads
    that."""
    trace = current(f"T.{name}")
    region = whole_region(buffer)
    if region is None:
        raise unexpected(f"{name}: buffer", buffer, "a tile or a slice of one")
    if region.static_extents() is None or region.memory is Memory.GM:
        where = "is in gm" if region.memory is Memory.GM else "has a run-time shape"
        message = f"{name}: `{region.buffer.name}` {where}, expected a tile of fixed size"
        raise Fault("operand-memory", message, "copy it to a tile with T.copy first", "buffer")
    tile = new_tile(FLOAT32, region.extents, f"{region.buffer.name}_is_set")
    ones = Region.whole(tile.buffer)

    def one(places: Any) -> Any:
        value = element(region, places)
        holds = value if value.dtype is BOOL else not_equal(value, 0)
        return stored(ones, places, select(holds, Const(1.0, FLOAT32), Const(0.0, FLOAT32)))

    trace.emit(for_each(region.extents, one))
    count = simplify(element_count(ones))
    run = new_tile(FLOAT32, (count,), "run", tile)
    answer = new_tile(FLOAT32, (Const(1),), name)
    given = {"src": run, "dst": answer, "dim": 0, "clear": True}
    trace.emit_pending(build_op(OPS[reduction], given, reduction))
    return trace.let(name, not_equal(Load(answer.buffer, (Const(0),)), 0.0), trace.here)
