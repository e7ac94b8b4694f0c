"""Compute the union of a region over all values of its variables, as one region."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import Const, Expr, Region, Slice, Var, linear_form, simplify, substitute, walk_expr
from tile_ir.analysis import interval
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """A variable that takes `count` values from `start` on."""

    var: Var
    start: Expr
    count: Expr


def swept(region: Region, runs: Sequence[Run]) -> Region:
    """The region over all values of the variables, and perhaps more.

    Where the slices of neighbouring values follow each other without a gap the result is exact;
    a dimension in which they do not is taken whole.
    """
    dims = zip(region.dims, region.buffer.shape, strict=True)
    found = tuple(_swept(s, runs) or Slice(Const(0), size) for s, size in dims)
    return Region(region.buffer, found)


def swept_exactly(region: Region, runs: Sequence[Run]) -> Region | None:
    """The region over all values of the variables, nothing else; None where it is no region."""
    for run in runs:
        depends = any(_mentions(s, run.var) for s in region.dims)
        if not depends and interval(run.count, {}).low < 1:
            return None  # perhaps there is no iteration at all
        if sum(_mentions(s, run.var) for s in region.dims) > 1:
            return None  # a diagonal
    dims = [_swept(s, runs) for s in region.dims]
    found = tuple(s for s in dims if s is not None)
    return Region(region.buffer, found) if len(found) == len(dims) else None


def _swept(s: Slice, runs: Sequence[Run]) -> Slice | None:
    waiting = [r for r in runs if _mentions(s, r.var)]
    while waiting:
        terms, _ = linear_form(simplify(s.offset))
        extent = simplify(s.extent)
        # The run whose slices begin where the one before ends, its variable standing nowhere else.
        run = next((r for r in waiting if _follows(r.var, terms, extent)), None)
        if run is None or s.stride != 1:
            return None
        offset = simplify(substitute(s.offset, {run.var: run.start}))
        s = Slice(offset, simplify(extent * run.count))
        waiting.remove(run)
    return s


def _follows(var: Var, terms: dict[Expr, int], extent: Expr) -> bool:
    alone = not any(e == var for t in terms if t != var for e in walk_expr(t))
    return var in terms and alone and extent == Const(terms[var])


def _mentions(s: Slice, var: Var) -> bool:
    return any(e == var for part in (s.offset, s.extent) for e in walk_expr(part))
