"""Elements that lie apart in gm: one transfer takes them there from blocks of ub with one each."""

from __future__ import annotations

from tile_ir import BLOCK_BYTES, ONE, ZERO, Const, Region, Slice, active_dims, constant_value
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.vector_steps import VectorSteps


def lies_apart(region: Region) -> bool:
    """Whether a line of elements has others between them."""
    active = active_dims(region)
    if len(active) != 1:
        return False
    (dim,) = active
    inner = region.buffer.shape[dim + 1 :]
    return region.dims[dim].stride != 1 or any(constant_value(n) != 1 for n in inner)


def in_blocks(s: VectorSteps, line: Region) -> Region:
    """The values of a line as the first elements of blocks. Raises Unsuitable."""
    if len(s.domain.vars) != 1:
        raise Unsuitable(f"elements of `{s.store.buffer.name}` lie apart")
    (var,) = s.domain.vars
    unit, count = BLOCK_BYTES // line.dtype.size, constant_value(s.domain.extents[0])
    if count is None:
        raise Unsuitable(f"the extent of `{var.name}` is known at run time only")
    sizes = (count, unit)
    extents = (Const(count), Const(unit))
    tile = s.temporaries.take(line.dtype, extents, sizes, True, s.loc)
    s.emit("broadcast", tile, line, None, attrs=(1,))
    s.release(line)
    return Region(tile.buffer, (tile.dims[0], Slice(ZERO, ONE)))
