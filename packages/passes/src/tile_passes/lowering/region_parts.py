"""Parts of regions, and loops over them: what lowering rules cut operands with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tile_ir import ONE, ZERO, Body, Expr, For, Loc, LoopKind, Region, Slice, Var, simplify
from tile_ir.layout.geometry import active_dims


def with_dim(region: Region, dim: int, part: Slice) -> Region:
    """The region with another slice in one dimension."""
    dims = list(region.dims)
    dims[dim] = part
    return Region(region.buffer, tuple(dims))


def part_along(region: Region, dim: int, start: Expr, extent: Expr) -> Region:
    """So many elements of one dimension, from one of them on."""
    s = region.dims[dim]
    return with_dim(region, dim, Slice(simplify(s.offset + start * s.stride), extent, s.stride))


def slice_at(region: Region, dim: int, index: Expr) -> Region:
    """One element of one dimension."""
    s = region.dims[dim]
    return with_dim(region, dim, Slice(simplify(s.offset + index * s.stride), ONE))


def each_matrix(part: Region, variable: Callable[[], Var]) -> tuple[list[tuple[Var, Expr]], Region]:
    """The same part of one matrix, and the loops over those there are."""
    slots: list[tuple[Var, Expr]] = []
    for dim in active_dims(part):
        if dim < len(part.dims) - 2:
            slots.append((variable(), part.dims[dim].extent))
            part = slice_at(part, dim, slots[-1][0])
    return slots, part


def element_of(region: Region, steps: Mapping[int, Expr]) -> tuple[Expr, ...]:
    """The indices of the element so many steps into some dimensions."""
    indices = [s.offset for s in region.dims]
    for dim, step in steps.items():
        indices[dim] = simplify(indices[dim] + step * region.dims[dim].stride)
    return tuple(indices)


def in_loops(loops: Iterable[tuple[Var, Expr]], body: Body, loc: Loc) -> Body:
    """Statements in serial loops from 0 on, the outermost first."""
    for var, extent in reversed(list(loops)):
        body = (For(var, ZERO, extent, LoopKind.SERIAL, body, loc),)
    return body
