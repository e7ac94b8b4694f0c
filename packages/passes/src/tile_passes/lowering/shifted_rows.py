"""Load rows that begin a few elements before their tensor. The elements of the tensor go to lines
behind a block of zeros; gathers begin in these."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import (
    BLOCK_BYTES,
    INT32,
    OPS,
    ZERO,
    Alloc,
    Body,
    Buffer,
    Const,
    Expr,
    Memory,
    Op,
    Region,
    Slice,
    Target,
    Var,
    cast,
    constant_value,
    round_up,
    simplify,
)
from tile_ir.layout.tile_copy import match_copy
from tile_passes.free_names import FreeNames
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.lowering.region_parts import in_loops, part_along, slice_at

# Bytes of elements that are gathered.
SIZES = (2, 4)
# Bytes of the lines of rows that are loaded together.
MOST_LINES = 16384


def load_shifted_rows(
    op: Op,
    dim: int,
    cut: Expr,
    most: float,
    load: Callable[[Op], Body],
    names: FreeNames,
    target: Target,
) -> tuple[Body, tuple[Alloc, ...]] | None:
    """A load to ub that begins `cut` elements before its tensor in the last dimension, at most a
    block, and the buffers it needs; None for others. `load` loads the rows without these elements,
    which may begin early in other dimensions."""
    (gm, local), dtype = (op.region("src"), op.region("dst")), op.region("dst").dtype
    columns = constant_value(local.dims[-1].extent)
    unit = BLOCK_BYTES // dtype.size
    rows = [(p.src_dim, p.dst_dim) for p in match_copy(gm, local)]
    last = len(gm.dims) - 1, len(local.dims) - 1
    if local.memory is not Memory.UB or dim != last[0] or most > unit:
        return None
    if columns is None or columns < 2 * unit or dtype.size not in SIZES or last not in rows:
        return None
    if gm.dtype is not dtype or constant_value(gm.dims[-1].extent) != columns:
        return None
    outer = [pair for pair in rows if pair != last]
    width = unit + round_up(columns, unit)
    height = _rows_at_once(local, outer[-1:], width * dtype.size)
    loops: list[tuple[Var, Expr]] = []
    for src_dim, dst_dim in outer:
        together = height if (src_dim, dst_dim) == outer[-1] else 1
        var = Var(names.fresh("row"))
        extent = local.dims[dst_dim].extent if dst_dim is not None else Const(1)
        loops.append((var, simplify(extent // together)))
        if src_dim is not None:
            gm = _rows_of(gm, src_dim, var, together)
        if dst_dim is not None:
            local = _rows_of(local, dst_dim, var, together)
    if not starts_at_blocks(local, target):
        return None
    sizes = (Const(height), Const(width))
    lines = Buffer(names.fresh("lines"), Memory.UB, dtype, sizes, op.loc)
    places = Buffer(
        names.fresh("places"), Memory.UB, INT32, (Const(round_up(columns, 64)),), op.loc
    )
    table = Region(places, (Slice(ZERO, Const(columns)),))
    there = simplify(columns - cut)
    inside = part_along(gm, last[0], cut, there)
    every = Slice(ZERO, sizes[0])
    front = Region(lines, (every, Slice(ZERO, Const(unit))))
    behind = Region(lines, (every, Slice(Const(unit), there)))
    first = cast(simplify((unit - cut) * dtype.size), INT32)
    line = Var(names.fresh("line"))
    source: Region = slice_at(Region.whole(lines), 0, line)
    if height > 1:
        local = slice_at(local, outer[-1][1] or 0, line)
    gathered = Op(OPS["gather"], (local, source, table, first), (), op.loc)
    each = (
        Op(OPS["fill"], (front, cast(ZERO, dtype)), (), op.loc),
        *load(Op(op.opdef, (inside, behind, *op.operands[2:]), op.attrs, op.loc)),
        *in_loops([(line, sizes[0])], (gathered,), op.loc),
    )
    size = Const(dtype.size)
    counted = Op(OPS["arith_progression"], (table, ZERO, size, None), (), op.loc)
    allocs = (Alloc(lines, op.loc), Alloc(places, op.loc))
    return (counted, *in_loops(loops, each, op.loc)), allocs


def _rows_at_once(local: Region, dims: list[tuple[int | None, int | None]], pitch: int) -> int:
    """How many rows along the last of the dimensions are loaded before they are gathered."""
    if not dims or None in dims[0]:
        return 1
    count = constant_value(local.dims[dims[0][1] or 0].extent)
    if not isinstance(count, int):
        return 1
    return max(
        n for n in range(1, count + 1) if count % n == 0 and n * pitch <= max(MOST_LINES, pitch)
    )


def _rows_of(region: Region, dim: int, number: Var, count: int) -> Region:
    """So many elements along a dimension, of those that it has."""
    return part_along(region, dim, simplify(number * count), Const(count))
