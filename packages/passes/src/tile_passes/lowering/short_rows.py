"""Transfers of small ub tiles whose rows do not start at blocks of 32 bytes: the DMA moves rows
that do, in a buffer of the compiler's own, and the scalar unit moves the elements."""

from __future__ import annotations

from math import prod

from tile_ir import For, Memory, Op, Region, Slice
from tile_ir.bounds import simplify
from tile_ir.expr import Const, Load, constant_value
from tile_ir.footprint import round_up
from tile_ir.geometry import active_dims
from tile_ir.nodes import AttrValue, Body, LoopKind, Store
from tile_passes.lowering.builder import Builder

# Beyond this the scalar unit would take longer than the rest of a kernel: the user had better pad.
MOST_ELEMENTS = 4096


def has_slow_path(src: Region, dst: Region) -> bool:
    """Whether the ub side is a small matrix."""
    local = dst if dst.memory is Memory.UB else src
    dims = _rows_and_columns(local)
    return (
        {src.memory, dst.memory} == {Memory.GM, Memory.UB}
        and local.dtype.whole_bytes
        and dims is not None
        and len(active_dims(src)) == len(active_dims(dst))
        and prod(constant_value(local.buffer.shape[d]) or 0 for d in dims) <= MOST_ELEMENTS
    )


def _rows_and_columns(region: Region) -> tuple[int, int] | None:
    """The dimension of the rows and the last one; None where more than these are in use."""
    last = len(region.dims) - 1
    rows = [d for d in active_dims(region) if d != last]
    return (rows[0], last) if len(rows) == 1 else None


def move_by_element(
    op: Op, src: Region, dst: Region, name: str, attrs: tuple[AttrValue, ...], builder: Builder
) -> Body:
    """The movement through rows of whole blocks, between barriers: all pipes take part."""
    loads = dst.memory is Memory.UB
    local, loc = dst if loads else src, op.loc
    dims = _rows_and_columns(local)
    assert dims is not None, "has_slow_path"
    row, column = dims
    rows, columns = (constant_value(local.buffer.shape[d]) or 0 for d in (row, column))
    padded = round_up(columns, builder.target.block_bytes // local.dtype.size)
    stage = builder.scratch("rows", Memory.UB, local.dtype, (rows, padded), loc)
    extents = (local.dims[row].extent, local.dims[column].extent)
    tile = Region(stage, tuple(Slice(Const(0), extent) for extent in extents))
    i, j = builder.scalar("row"), builder.scalar("column")
    place = [s.offset for s in local.dims]
    for dim, var in ((row, i), (column, j)):
        place[dim] = simplify(local.dims[dim].offset + var * local.dims[dim].stride)
    here, there = (stage, (i, j)), (local.buffer, tuple(place))
    (from_, indices), (to, target) = (here, there) if loads else (there, here)
    moves: Body = (Store(to, target, Load(from_, indices), loc),)
    for var, extent in ((j, extents[1]), (i, extents[0])):
        moves = (For(var, Const(0), extent, LoopKind.SERIAL, moves, loc),)
    barrier = builder.barrier_all(loc)
    movement = builder.op(name, (src, tile) if loads else (tile, dst), loc, *attrs)
    if loads:
        return (barrier, movement, barrier, *moves, barrier)
    return (barrier, *moves, barrier, movement, barrier)
