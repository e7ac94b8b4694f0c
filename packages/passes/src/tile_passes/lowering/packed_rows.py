"""Work on elements that vector instructions do not reach, as rows that do not start at blocks of 32
bytes and single bytes: the scalar unit does it."""

from __future__ import annotations

from tile_ir import Body, Const, Expr, Load, Op, Region, Store, active_dims, simplify
from tile_ir.analysis import Ranges
from tile_ir.ops.broadcast import broadcast_axis
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import element_of, in_loops


def lower_broadcast_packed(op: Op, known: Ranges, builder: Builder) -> Body:
    """An element after the other."""
    dst, src = op.region("dst"), op.region("src")
    row, column = builder.scalar("row"), builder.scalar("column")
    rows, columns = (Const(1), *dst.extents)[-2:]
    axis = broadcast_axis(op)
    place = {0: column, 1: row, 2: simplify(row * columns + column)}[axis]
    value = Load(src.buffer, _nth(src, place))
    steps: dict[int, Expr] = {-2: row, -1: column} if len(dst.dims) > 1 else {-1: column}
    store = Store(dst.buffer, element_of(dst, steps), value, op.loc)
    return in_loops(((row, rows), (column, columns)), (store,), op.loc)


def store_everywhere(region: Region, value: Expr, op: Op, builder: Builder) -> Body:
    """The value in every element, one after the other."""
    dims = active_dims(region)
    variables = [builder.scalar("byte") for _ in dims]
    place = element_of(region, dict(zip(dims, variables, strict=True)))
    extents = (region.dims[dim].extent for dim in dims)
    store = Store(region.buffer, place, value, op.loc)
    return in_loops(zip(variables, extents, strict=True), (store,), op.loc)


def _nth(region: Region, number: Expr) -> tuple[Expr, ...]:
    """The indices of the nth element in row-major order."""
    steps: dict[int, Expr] = {}
    for dim in reversed(active_dims(region)[1:]):
        extent = region.dims[dim].extent
        steps[dim], number = simplify(number % extent), simplify(number // extent)
    for dim in active_dims(region)[:1]:
        steps[dim] = number
    return element_of(region, steps)
