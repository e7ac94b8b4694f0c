"""`T.copy(..., stride=)`: rows of a tile that are any number of elements apart in gm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tile_frontend.arguments.op_functions import build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, describe, python_number
from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Pending
from tile_ir import (
    OPS,
    Const,
    Expr,
    For,
    Load,
    LoopKind,
    Memory,
    Region,
    Slice,
    Var,
    active_dims,
    constant_value,
    simplify,
    strides,
)


def copy_with_stride(
    src: Region | Load, dst: Region | Load, stride: Any, options: Mapping[str, Any]
) -> Pending:
    """A row at a time: the last dimension of the tile on chip is a row, those before it count them.
    Where gm ends, a row is cut as in every copy; an l1 matrix is not zeroed before.

    Raises Fault where not exactly one side is in gm, and where the tensor has more dimensions than
    one and the stride is no multiple of the size of its rows.
    """
    trace = current("copy")
    pitch = _pitch(stride)
    sides = {"src": src, "dst": dst}
    outside = [name for name, side in sides.items() if side.buffer.memory is Memory.GM]
    tile = sides["dst" if outside == ["src"] else "src"]
    if len(outside) != 1 or not isinstance(tile, Region):
        raise Fault(
            "copy-option",
            "copy: stride is only for copies between gm and a tile",
            argument="stride",
        )
    rows = [d for d in active_dims(tile) if d != len(tile.dims) - 1]
    counters = [trace.loop_variable("row") for _ in rows]
    number: Expr = Const(0)
    for dim, counter in zip(rows, counters, strict=True):
        number = number * tile.dims[dim].extent + counter
    regions = {
        outside[0]: _row_in_gm(sides[outside[0]], simplify(number), pitch, tile.dims[-1].extent),
        "dst" if outside == ["src"] else "src": _row_of_tile(tile, rows, counters),
    }
    pending = build_op(OPS["copy"], {**regions, **options}, "copy")
    for dim, counter in zip(reversed(rows), reversed(counters), strict=True):
        body, count = (pending.stmt,), tile.dims[dim].extent
        pending.stmt = For(counter, Const(0), count, LoopKind.SERIAL, body, trace.here)
    return pending


def _pitch(stride: Any) -> Expr:
    number = python_number(stride)
    if isinstance(stride, Scalar) and stride.expr.dtype.is_integer:
        return stride.expr
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise Fault(
            "operand-kind",
            f"copy: stride is {describe(stride)}, expected a number of elements",
            argument="stride",
        )
    return Const(number)


def _row_of_tile(tile: Region, rows: list[int], counters: list[Var]) -> Region:
    dims = list(tile.dims)
    for dim, counter in zip(rows, counters, strict=True):
        old = dims[dim]
        dims[dim] = Slice(simplify(old.offset + counter * old.stride), Const(1))
    return Region(tile.buffer, tuple(dims))


def _row_in_gm(side: Region | Load, number: Expr, pitch: Expr, columns: Expr) -> Region:
    """The row of that number: in a flat tensor any elements, in others one of its own rows."""
    buffer = side.buffer
    starts = side.indices if isinstance(side, Load) else tuple(s.offset for s in side.dims)
    dims = [Slice(simplify(start), Const(1)) for start in starts]
    dims[-1] = replace(dims[-1], extent=columns)
    if len(dims) == 1:
        dims[0] = Slice(simplify(starts[0] + number * pitch), columns)
        return Region(buffer, tuple(dims))
    step, size = constant_value(pitch), constant_value(strides(buffer)[-2])
    if step is None or size is None or step % size:
        raise Fault(
            "copy-option",
            f"copy: `{buffer.name}` has {len(dims)} dimensions, but the stride is no multiple of "
            "the elements of its rows",
            "declare the tensor with one dimension: it may have any stride",
            "stride",
        )
    dims[-2] = Slice(simplify(starts[-2] + number * (step // size)), Const(1))
    return Region(buffer, tuple(dims))
