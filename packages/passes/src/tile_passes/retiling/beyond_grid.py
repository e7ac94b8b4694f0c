"""Find out whether blocks beyond the end of a grid would store nothing: then the last of several
neighbours that become one block may be such blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_ir import (
    Automatic,
    Body,
    Expr,
    Func,
    Let,
    Memory,
    Op,
    Region,
    Stmt,
    Var,
    bodies,
    constant_value,
    linear_form,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir.analysis import (
    Ranges,
    interval,
    launch_ranges,
    ranges_inside,
    regions_of,
    with_ranges,
)
from tile_ir.layout.tile_copy import clamped_dims
from tile_ir.quick_dataclasses import dataclass
from tile_passes.retiling.longer_tiles import longer_region


def stores_nothing_beyond(func: Func, place: Var, count: int) -> bool:
    """Whether every store to a tensor lies behind its end from a place on, where what is stored
    there vanishes. That is so for all accesses to tensors if the kernel leaves their bounds to the
    compiler (`Automatic.BOUNDS`), and for copies that are cut at the end of the tensor."""
    guarded = Automatic.BOUNDS in func.automatic
    found = _accesses(func.launch.body, launch_ranges(func), {}, place)
    return all(x.vanishes(place, count, guarded) for x in found)


@dataclass(frozen=True, slots=True)
class _Accessed:
    """The indices of an access to a tensor that follow the place, each with the size of the
    dimension and whether the access is cut at its end; and the known values of variables."""

    indices: tuple[tuple[Expr, Expr, bool], ...]
    writes: bool
    known: Ranges

    def vanishes(self, place: Var, count: int, guarded: bool) -> bool:
        """Whether it does nothing from a place on, or only reads."""
        if not guarded and not all(cut for *_, cut in self.indices):
            return False
        behind = (_is_behind(i, n, self.known, place, count) for i, n, _ in self.indices)
        return not self.writes or any(behind)


def _accesses(
    body: Body, known: Ranges, names: Mapping[Var, Expr], place: Var
) -> Iterator[_Accessed]:
    for stmt, here in with_ranges(body, known):
        if isinstance(stmt, Let) and stmt.var != place:
            names = {**names, stmt.var: stmt.value}
        for region, access, *_ in regions_of(stmt):
            if region.memory is Memory.GM:
                yield _Accessed(_indices(stmt, region, names, place), access.writes, here)
        for inner in bodies(stmt):
            yield from _accesses(inner, ranges_inside(stmt, here), names, place)


def _indices(
    stmt: Stmt, region: Region, names: Mapping[Var, Expr], place: Var
) -> tuple[tuple[Expr, Expr, bool], ...]:
    offsets = [resolved(s.offset, names) for s in region.dims]
    along = [d for d, offset in enumerate(offsets) if place in set(walk_expr(offset))]
    cut: tuple[int, ...] = ()
    if isinstance(stmt, Op) and stmt.opdef.clip is not None and region in stmt.operands:
        longer = region
        for d in along:
            if constant_value(region.dims[d].extent) is not None:
                longer = longer_region(longer, d, 2, grow=False)
        cut = clamped_dims(longer)
    return tuple((offsets[d], region.buffer.shape[d], d in cut) for d in along)


def _is_behind(index: Expr, size: Expr, known: Ranges, place: Var, count: int) -> bool:
    """Whether an index goes up with the place, and is behind the dimension from a place on."""
    terms, _ = linear_form(index)
    step, end = terms.get(place, 0), constant_value(size)
    rest = simplify(index - place * step)
    if step < 1 or end is None or place in set(walk_expr(rest)):
        return False
    return step * count + interval(rest, known).low >= end
