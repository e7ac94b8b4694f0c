"""Load rows that begin a few elements before their tensor. The elements of the tensor go to a line
behind a block of zeros; a gather begins in these."""

from __future__ import annotations

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
from tile_passes.lowering.region_parts import in_loops, part_along, with_dim

# Bytes of elements that are gathered.
SIZES = (2, 4)


def load_shifted_rows(
    op: Op, dim: int, cut: Expr, most: float, names: FreeNames, target: Target
) -> tuple[Body, tuple[Alloc, ...]] | None:
    """A load to ub that begins `cut` elements before its tensor in the last dimension, at most a
    block, and the buffers it needs; None for others."""
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
    loops: list[tuple[Var, Expr]] = []
    for src_dim, dst_dim in rows:
        if (src_dim, dst_dim) == last:
            continue
        var = Var(names.fresh("row"))
        loops.append((var, local.dims[dst_dim].extent if dst_dim is not None else Const(1)))
        if src_dim is not None:
            gm = _at(gm, src_dim, var)
        if dst_dim is not None:
            local = _at(local, dst_dim, var)
    if not starts_at_blocks(local, target):
        return None
    line = Buffer(
        names.fresh("line"), Memory.UB, dtype, (Const(unit + round_up(columns, unit)),), op.loc
    )
    places = Buffer(
        names.fresh("places"), Memory.UB, INT32, (Const(round_up(columns, 64)),), op.loc
    )
    table = Region(places, (Slice(ZERO, Const(columns)),))
    there = simplify(columns - cut)
    inside = part_along(gm, last[0], cut, there)
    behind = Region(line, (Slice(Const(unit), there),))
    first = cast(simplify((unit - cut) * dtype.size), INT32)
    each = (
        Op(OPS["fill"], (Region.whole(line), cast(ZERO, dtype)), (), op.loc),
        Op(op.opdef, (inside, behind, *op.operands[2:]), op.attrs, op.loc),
        Op(OPS["gather"], (local, Region.whole(line), table, first), (), op.loc),
    )
    size = Const(dtype.size)
    counted = Op(OPS["arith_progression"], (table, ZERO, size, None), (), op.loc)
    allocs = (Alloc(line, op.loc), Alloc(places, op.loc))
    return (counted, *in_loops(loops, each, op.loc)), allocs


def _at(region: Region, dim: int, var: Var) -> Region:
    """One element along a dimension."""
    s = region.dims[dim]
    return with_dim(region, dim, Slice(simplify(s.offset + var * s.stride), Const(1)))
