"""Add the values of all iterations along one variable to one element for each other iteration:
`m[i] += x[i, j]` is the sum of a tile of values along `j`, added to `m`.

Not here: which stores add so (`accumulation`).
"""

from __future__ import annotations

from tile_ir import FLOAT32, Memory, Region
from tile_ir.ops.reduce import composed_reduction
from tile_passes.parallel.accumulation import added_along, added_up, meets_at_an_element
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.vector_steps import VectorSteps

_OPERATIONS = {"+": "reduce_sum", "max": "reduce_max", "min": "reduce_min"}


def combine_lines(s: VectorSteps, dst: Region) -> None:
    """Emit the values of the statement as one tile, and the operation that combines its lines into
    `dst`. Raises Unsuitable."""
    found, along = added_up(s.store), added_along(s.store, s.domain.vars)
    if found is None or len(along) != 1 or dst.memory is not Memory.UB or dst.dtype is not FLOAT32:
        raise Unsuitable(meets_at_an_element(dst.buffer.name))
    kind, value = found
    values = s.typed(value, dst.dtype, s.domain, None)
    tile = values if isinstance(values, Region) else s.filled(values, dst.dtype, s.domain)
    (var,) = along
    axis = s.domain.vars.index(var) - len(s.domain.vars)
    s.emit(composed_reduction(_OPERATIONS[kind], tile), tile, dst, attrs=(axis, False))
    s.release(tile)
