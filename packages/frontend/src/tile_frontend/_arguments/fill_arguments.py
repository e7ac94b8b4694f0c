"""Build `T.fill` and `T.clear`: of tiles, and of scalar variables, which they assign."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.scalars import stored_value
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Cell, Pending
from tile_ir import OPS, Store


def fill(dst: Any, value: Any) -> Pending:
    """Every element of a tile, or the variable of `T.alloc_var`."""
    return _assigned(dst, value) or build_op(OPS["fill"], {"dst": dst, "value": value}, "fill")


def clear(dst: Any) -> Pending:
    """Zeros for every element of a tile, or for the variable of `T.alloc_var`."""
    return _assigned(dst, 0) or build_op(OPS["clear"], {"dst": dst}, "clear")


def _assigned(dst: Any, value: Any) -> Pending | None:
    """The assignment of a scalar variable; None for anything else."""
    if not isinstance(dst, Cell):
        return None
    trace = current("fill")
    new = Store(dst.tile.buffer, dst.indices, stored_value(value, dst.tile.element), trace.here)
    pending = Pending(new, "fill", trace.here)
    trace.pending.append(pending)
    return pending


FUNCTIONS = {
    name: OpFunction(OPS[name], adapter, doc=f"{OPS[name].doc}.")
    for name, adapter in (("fill", fill), ("clear", clear))
}
