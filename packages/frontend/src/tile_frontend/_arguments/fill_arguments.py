"""Build `T.fill` and `T.clear`: of tiles, and of scalar variables and elements of tensors, which
they assign."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, whole_region
from tile_frontend._arguments.element_nests import as_one, for_each, one_after_another, stored
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.scalars import Scalar, stored_value
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Cell, Pending
from tile_ir import OPS, Expr, Load, Memory, Region, Stmt, Store


def fill(dst: Any, value: Any) -> Pending:
    """Every element of a tile or of a tensor, or the variable of `T.alloc_var`."""
    return _assigned(dst, value) or build_op(OPS["fill"], {"dst": dst, "value": value}, "fill")


def clear(dst: Any) -> Pending:
    """Zeros for every element of a tile or of a tensor, or for the variable of `T.alloc_var`."""
    return _assigned(dst, 0) or build_op(OPS["clear"], {"dst": dst}, "clear")


def _assigned(dst: Any, value: Any) -> Pending | None:
    """The assignment of a scalar variable, of all elements of a small array in `T.Parallel`, or of
    those of a tensor; None for anything else."""
    trace = current("fill")
    match dst:
        case Scalar(expr=Load(buffer, indices)) if buffer.memory is Memory.GM and indices:
            one = Store(buffer, indices, stored_value(value, buffer.dtype), trace.here)
            return as_one([one], "fill") if trace.python_names else None
    region = whole_region(dst)
    if region is not None and _is_of_tensor(region, trace):
        new, extents = stored_value(value, region.dtype), [d.extent for d in region.dims]
        return as_one([for_each(extents, lambda places: stored(region, places, new))], "fill")
    if region is not None and trace.parallel_depth and trace.private.holds(region.buffer):
        return as_one([_each(region, (), stored_value(value, region.dtype))], "fill")
    if not isinstance(dst, Cell):
        return None
    store = Store(dst.tile.buffer, dst.indices, stored_value(value, dst.tile.element), trace.here)
    pending = Pending(store, "fill", trace.here)
    trace.pending.append(pending)
    return pending


def _is_of_tensor(region: Region, trace: Trace) -> bool:
    """Whether a kernel for GPUs fills elements of gm, by a loop of its own."""
    return region.memory is Memory.GM and trace.python_names and not trace.parallel_depth


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
