"""Values of one row or column, repeated over a matrix whose packed rows start inside blocks of 32
bytes: no broadcast reaches them, but the matrix is one run, whose elements know their place."""

from __future__ import annotations

from tile_ir import BLOCK_BYTES, INT32, Const, DType, Expr, Region, Var, constant_value, substitute
from tile_ir.analysis import Interval
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.vector_steps import VectorSteps

# Sizes of elements that `gather` takes.
_GATHERED = (2, 4)


def is_packed(s: VectorSteps, dtype: DType, domain: Domain) -> bool:
    """Whether rows of a tile over the domain start inside blocks."""
    if not s.dense or len(domain.vars) != 2:
        return False
    rows, columns = (constant_value(e) for e in domain.extents)
    return rows is not None and columns is not None and columns * dtype.size % BLOCK_BYTES != 0


def counted_line(s: VectorSteps, e: Expr, domain: Domain) -> Region:
    """An integer made of one variable, for all elements of the matrix."""
    run, values = run_of(s, domain)
    found = s.typed(substitute(e, values), INT32, run, None)
    assert isinstance(found, Region), "it follows a variable"
    return found


def picked_line(s: VectorSteps, vector: Region, line: Domain, domain: Domain) -> Region:
    """The elements of a vector, each as often as the matrix needs it. Raises Unsuitable."""
    if vector.dtype.size not in _GATHERED:
        raise Unsuitable(f"rows of {vector.dtype} start inside blocks of 32 bytes")
    (var,), (start,) = line.vars, line.starts
    offsets = counted_line(s, (var - start) * vector.dtype.size, domain)
    tile = s.tile(vector.dtype, domain)
    s.emit("gather", tile, vector, offsets, Const(0, INT32))
    s.release(offsets)
    s.release(vector)
    return tile


def run_of(s: VectorSteps, domain: Domain) -> tuple[Domain, dict[Var, Expr]]:
    """All elements of a matrix, one after another, and the variables in terms of their places."""
    place = s.temporaries.builder.scalar("place")
    rows, columns = (constant_value(e) or 0 for e in domain.extents)
    s.sizes[place] = rows * columns
    s.known = {**s.known, place: Interval(0, max(rows * columns - 1, 0))}
    row = place // domain.extents[1]
    column = place - row * domain.extents[1]
    steps = (domain.starts[0] + row, domain.starts[1] + column)
    values = dict(zip(domain.vars, steps, strict=True))
    return Domain((place,), (Const(0),), (Const(rows * columns),)), values
