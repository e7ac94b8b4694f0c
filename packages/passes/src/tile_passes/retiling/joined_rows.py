"""Name tensors of which a block uses a group of rows by views that have the rows of all groups. The
groups of neighbours are a longer tile then, and no tile gets another dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    Expr,
    For,
    Func,
    Let,
    Memory,
    Region,
    Slice,
    Var,
    bodies,
    constant_value,
    is_constant,
    linear_form,
    map_places,
    resolved,
    rewrite,
    simplify,
    walk_expr,
)
from tile_ir.analysis import regions_of
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.ranks import is_symmetric
from tile_passes.free_names import FreeNames
from tile_passes.retiling.block_axis import Against

# The slices of an operand, or the element that an expression or a store names.
Dims = Sequence[Slice]


def with_joined_rows(func: Func, place: Var) -> Func:
    """The function whose `X[place, i, j]` is `rows[place * size + i, j]`, for each tensor that a
    block uses at its place of the grid. Raises Against."""
    uses = _PlaceUses(place, {})
    uses.of_body(func.launch.body, {}, {})
    names = FreeNames.of(func)
    views = {t: _joined(t, d, names) for t, d in uses.dims.items() if d is not None}
    if not views:
        raise Against("no block uses a group of rows")
    if any(t not in func.tensors or is_symmetric(t) for t in views):
        raise Against("a tensor is of one launch, or of several ranks")
    body = rewrite(func.launch.body, lambda s: map_places(s, partial(_named, uses.dims, views)))
    roots = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    more = (Alloc(v, v.loc, alias_of=roots.get(t, t)) for t, v in views.items())
    return func.with_body(body, allocs=(*func.launch.allocs, *more))


def _joined(tensor: Buffer, dim: int, names: FreeNames) -> Buffer:
    first, second = tensor.shape[dim : dim + 2]
    shape = (*tensor.shape[:dim], simplify(first * second), *tensor.shape[dim + 2 :])
    return replace(tensor, name=names.fresh(f"{tensor.name}_rows"), shape=shape)


def _named(
    dims: Mapping[Buffer, int | None], views: Mapping[Buffer, Buffer], region: Region
) -> Region | None:
    """A region of a tensor as one of its view, which has the dimension and the next one as one."""
    tensor, dim = region.buffer, dims.get(region.buffer)
    if dim is None:
        return None
    outer, inner = region.dims[dim : dim + 2]
    offset = simplify(outer.offset * tensor.shape[dim + 1] + inner.offset)
    joined = replace(inner, offset=offset)
    return Region(views[tensor], (*region.dims[:dim], joined, *region.dims[dim + 2 :]))


@dataclass(frozen=True, slots=True)
class _PlaceUses:
    """`dims` are the tensors with the dimension along which the place is; None for those that are
    the same at each place."""

    place: Var
    dims: dict[Buffer, int | None]

    def of_body(self, body: Body, known: Mapping[Var, Expr], ends: Mapping[Var, int]) -> None:
        """`known` are definitions of names, and `ends` how far loops from zero go."""
        for stmt in body:
            if isinstance(stmt, Let) and stmt.var != self.place:
                known = {**known, stmt.var: stmt.value}
            for region, *_ in regions_of(stmt):
                if region.memory is Memory.GM:
                    self.use(region.buffer, [_resolved(s, known) for s in region.dims], ends)
            inner = ends
            if isinstance(stmt, For) and is_constant(stmt.start, 0):
                end = constant_value(stmt.stop)
                inner = {**ends, stmt.var: end} if isinstance(end, int) else ends
            for part in bodies(stmt):
                self.of_body(part, known, inner)

    def use(self, tensor: Buffer, dims: Dims, ends: Mapping[Var, int]) -> None:
        along = [d for d, s in enumerate(dims) if self.place in walk_expr(s.offset)]
        if any(self.place in walk_expr(s.extent) for s in dims) or len(along) > 1:
            raise Against(f"`{tensor.name}` has no row for each block")
        dim = along[0] if along else None
        if dim is not None and not self.is_group(tensor, dims, dim, ends):
            raise Against(f"`{tensor.name}` has no group of rows for each block")
        if self.dims.setdefault(tensor, dim) != dim:
            raise Against(f"`{tensor.name}` is used in two ways")

    def is_group(self, tensor: Buffer, dims: Dims, dim: int, ends: Mapping[Var, int]) -> bool:
        """Whether what is used at a place lies inside of one group."""
        if dim + 1 >= len(dims) or linear_form(dims[dim].offset)[0].get(self.place) != 1:
            return False
        size, inner = constant_value(tensor.shape[dim + 1]), dims[dim + 1]
        if not is_constant(dims[dim].extent, 1) or not isinstance(size, int) or inner.stride != 1:
            return False
        first, length = inner.offset, constant_value(inner.extent)
        last = ends.get(first, 0) - 1 if isinstance(first, Var) else constant_value(first)
        if not isinstance(last, int) or not isinstance(length, int) or last < 0:
            return False
        return last + length <= size


def _resolved(s: Slice, known: Mapping[Var, Expr]) -> Slice:
    return replace(s, offset=resolved(s.offset, known), extent=resolved(s.extent, known))
