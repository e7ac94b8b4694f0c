"""A copy of which one side has an index where a slice was meant: `T.copy(X[:, i * 32], x)`.

Legal, and silent in the language: a region keeps its own extents, so one column is moved and the
rest of the tile padded (docs/rules/copies.md#extents). Only where all parts are indices is the
whole a start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.subscripts import View
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import Diagnostic, Memory, Region
from tile_ir.analysis.affine import simplify
from tile_ir.expr import Expr, constant_value, is_constant
from tile_ir.printer import print_expr


def checking_slices(
    given: tuple[Any, Any], regions: tuple[Region, Region], build: Callable[[], Pending]
) -> Pending:
    """The copy, with a remark where a slice instead of one index would make both sides the same
    shape. Where it is an error, that is its hint."""
    src, dst = regions
    rest = (
        f"the rest of `{dst.buffer.name}` is padded"
        if dst.memory in (Memory.UB, Memory.SHARED, Memory.L1)
        else f"nothing else of `{src.buffer.name}` is stored"
    )
    found = _better(given[0], src, dst, rest) or _better(given[1], dst, src, rest)
    try:
        pending = build()
    except Fault as fault:
        if found is None or fault.slug != "shape-mismatch":
            raise
        raise Fault(fault.slug, fault.message, found.hint, fault.argument) from None
    if found is not None:
        current("T.copy").remark(found)
    return pending


def _better(value: Any, region: Region, other: Region, rest: str) -> Diagnostic | None:
    """What to say of one side, if a slice would do for one of its indices."""
    wanted, found = _active(other.static_extents()), region.static_extents()
    if not isinstance(value, View) or wanted is None or found is None or _active(found) == wanted:
        return None
    for dim in reversed(value.points):
        for extent in wanted:
            if _active((*found[:dim], extent, *found[dim + 1 :])) == wanted:
                return _remark(region, other, dim, extent, rest)
    return None


def _active(extents: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if extents is None else tuple(e for e in extents if e != 1)


def _remark(region: Region, other: Region, dim: int, extent: int, rest: str) -> Diagnostic:
    sizes = [", ".join(map(str, r.static_extents() or ())) for r in (region, other)]
    return Diagnostic(
        "index-for-slice",
        f"copy: an index is a slice of one: `{region.buffer.name}` is [{sizes[0]}] here, but "
        f"`{other.buffer.name}` is [{sizes[1]}], so only that much is moved, and {rest}",
        current("T.copy").here,
        f"write `{region.buffer.name}[{_parts(region, dim, extent)}]`",
        "warning",
    )


def _parts(region: Region, dim: int, extent: int) -> str:
    """The subscript with a slice in one dimension, as a script would write it."""
    parts = []
    for i, (s, size) in enumerate(zip(region.dims, region.buffer.shape, strict=True)):
        stop = simplify(s.offset + (extent if i == dim else s.extent))
        if i != dim and is_constant(s.extent, 1):
            parts.append(_text(s.offset))
        elif is_constant(s.offset, 0) and constant_value(stop) == constant_value(size):
            parts.append(":")
        else:
            parts.append(f"{_text(s.offset)}:{_text(stop)}")
    return ", ".join(parts)


def _text(e: Expr) -> str:
    return print_expr(e).replace("%", "").replace("$", "")
