"""Build `T.fill` and `T.clear`: of tiles, and of scalar variables, which they assign."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, whole_region
from tile_frontend._arguments.element_nests import as_one, one_after_another, stored
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.scalars import stored_value
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Cell, Pending
from tile_ir import OPS, Expr, Region, Stmt, Store


def fill(dst: Any, value: Any) -> Pending:
    """Every element of a tile, or the variable of `T.alloc_var`."""
    return _assigned(dst, value) or build_op(OPS["fill"], {"dst": dst, "value": value}, "fill")


def clear(dst: Any) -> Pending:
    """Zeros for every element of a tile, or for the variable of `T.alloc_var`."""
    return _assigned(dst, 0) or build_op(OPS["clear"], {"dst": dst}, "clear")


def _assigned(dst: Any, value: Any) -> Pending | None:
    """The assignment of a scalar variable, or of all elements of a small array in `T.Parallel`;
    None for anything else."""
    trace = current("fill")
    region = whole_region(dst)
    if region is not None and trace.parallel_depth and trace.private.holds(region.buffer):
        return as_one([_each(region, (), stored_value(value, region.dtype))], "fill")
    if not isinstance(dst, Cell):
        return None
    new = Store(dst.tile.buffer, dst.indices, stored_value(value, dst.tile.element), trace.here)
    pending = Pending(new, "fill", trace.here)
    trace.pending.append(pending)
    return pending


def _each(region: Region, places: tuple[Expr, ...], value: Expr) -> Stmt:
    """The value for every element behind some indices, one after the other."""
    if len(places) == len(region.dims):
        return stored(region, places, value)
    size = region.dims[len(places)].extent
    return one_after_another(0, size, lambda place: _each(region, (*places, place), value))


FUNCTIONS = {
    name: OpFunction(OPS[name], adapter, doc=f"{OPS[name].doc}.")
    for name, adapter in (("fill", fill), ("clear", clear))
}
