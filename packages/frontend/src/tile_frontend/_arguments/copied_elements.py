"""Build copies that do not move a tile: assignments of one element, and additions to gm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_frontend._arguments.build_op import build_op, only_element, side_of
from tile_frontend._arguments.element_nests import as_one
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, no_packed_scalar, stored_value
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Cell, Pending
from tile_ir import OPS, Const, Core, If, Load, Memory, Region, Store, binary


def one_element(src: Any, dst: Any) -> Pending | None:
    """The assignment that a copy of one element to another, or to a scalar variable, is in text for
    GPUs."""
    trace = current("T.copy")
    if not trace.python_names:
        return None
    to = dst.expr if isinstance(dst, Cell) else side_of(dst, "dst", "copy")
    value = src.expr if isinstance(src, Cell) else side_of(src, "src", "copy")
    if isinstance(dst, Cell) and isinstance(value, Region):
        element = only_element(value)
        value = value if element is None else element
    if not isinstance(to, Load) or not isinstance(value, Load):
        return None
    no_packed_scalar(to.dtype)
    number = stored_value(Scalar(value), to.dtype)
    return as_one([Store(to.buffer, to.indices, number, trace.here)], "copy")


def moved(src: Region, dst: Region, options: Mapping[str, Any]) -> Pending:
    """The copy, or an addition to gm under `T.set_atomic`. Raises Fault for options that have no
    such form."""
    trace = current("copy")
    core = Core.CUBE if src.memory is Memory.L0C else Core.VECTOR
    known = core in trace.adding if trace.adding_when is None else None
    if dst.memory is not Memory.GM or known is False:
        return build_op(OPS["copy"], {"src": src, "dst": dst, **options}, "copy")
    for name, value in options.items():
        if value is not None and value is not False:
            message = f"copy: {name} is not for copies that add to gm, as T.set_atomic says"
            hint = "leave it out; change the tile in ub before the copy instead"
            raise Fault("copy-option", message, hint, argument=name)
    adds = build_op(OPS["atomic_add"], {"src": src, "dst": dst}, "copy")
    if trace.adding_when is None:
        return adds
    trace.pending.remove(adds)
    made = build_op(OPS["copy"], {"src": src, "dst": dst, **options}, "copy")
    when = binary("==", trace.adding_when, Const(1))
    made.stmt = If(when, (adds.stmt,), (made.stmt,), made.loc)
    return made
