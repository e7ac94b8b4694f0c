"""Elements of a tile that no block starts with, or that lie apart, as a line that the vector unit
gathers: every k-th one, a column, a row from any place on, one backwards."""

from __future__ import annotations

from tile_ir import (
    INT32,
    INT64,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Slice,
    cast,
    constant_value,
    element_offset,
    simplify,
    substitute,
)
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.tile_steps import check_inside
from tile_passes.parallel.vector_steps import VectorSteps

# Shorter lines are as well carried by the scalar unit, which makes the first 8 offsets, too.
LEAST_LINE = 16


def picked(s: VectorSteps, e: Load, domain: Domain) -> Region:
    """A tile with the elements, one after another. Raises Unsuitable."""
    name = e.buffer.name
    if len(domain.vars) != 1 or e.buffer.memory is not Memory.UB:
        raise Unsuitable(f"`{name}` starts inside blocks of 32 bytes, or its elements lie apart")
    if any(i.dtype not in (INT32, INT64) for i in e.indices):
        raise Unsuitable(f"an index of `{name}` is of a type in which sums may wrap")
    (var,), (start,), (extent,) = domain.vars, domain.starts, domain.extents
    place = element_offset(_element(e, e.indices))
    step = step_of(place, var)
    count = constant_value(extent)
    if step == 0 or (count is not None and count < LEAST_LINE):
        raise Unsuitable(f"an index of `{name}` is no multiple of `{var.name}`")
    last = simplify(start + extent - 1)
    for end in (start, last):
        check_inside(_element(e, tuple(substitute(i, {var: end}) for i in e.indices)))
    size = e.dtype.size
    apart = abs(step) * size
    offsets = s.tile(INT32, domain)
    first = simplify((extent - 1) * apart) if step < 0 else Const(0)
    s.emit("arith_progression", offsets, first, Const(apart if step > 0 else -apart), None)
    lowest = simplify(substitute(place, {var: last if step < 0 else start}) * size)
    tile = s.tile(e.dtype, domain)
    s.emit("gather", tile, Region.whole(e.buffer), offsets, cast(lowest, INT32))
    s.release(offsets)
    return tile


def _element(e: Load, indices: tuple[Expr, ...]) -> Region:
    return Region(e.buffer, tuple(Slice(simplify(i), Const(1)) for i in indices))
