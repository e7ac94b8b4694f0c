"""A copy of which one side has an index where a slice was meant: `T.copy(X[:, i * 32], x)`.

A region keeps its own extents, so one column would be moved and the rest of the tile padded
(docs/rules/copies.md#extents). Only where all parts are indices is the whole a start. Who wants one
column writes a slice of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.subscripts import View
from tile_frontend._tracing.values import Pending
from tile_ir import Expr, Memory, Region, constant_value, is_constant, print_expr, simplify


def checking_slices(
    given: tuple[Any, Any], regions: tuple[Region, Region], build: Callable[[], Pending]
) -> Pending:
    """The copy, if no slice instead of one index would make both sides the same shape.

    Raises Fault `index-for-slice` if one would; what `build` raises gets its hint.
    """
    src, dst = regions
    of_src, of_dst = _meant(given[0], src, dst), _meant(given[1], dst, src)
    found = of_src or of_dst
    try:
        pending = build()
    except Fault as fault:
        if found is None or fault.slug != "shape-mismatch":
            raise
        raise Fault(fault.slug, fault.message, f"write {found}", fault.argument) from None
    if found is None:
        return pending
    padded = dst.memory in (Memory.UB, Memory.SHARED, Memory.L1)
    left = (
        f"the rest of `{dst.buffer.name}` is padded"
        if padded
        else f"nothing else of `{src.buffer.name}` is stored"
    )
    sizes = [", ".join(map(str, r.static_extents() or ())) for r in regions]
    raise Fault(
        "index-for-slice",
        f"copy: an index beside a slice is one long: `{src.buffer.name}` is [{sizes[0]}] here, but "
        f"`{dst.buffer.name}` is [{sizes[1]}]",
        f"write {found}; if one is meant and {left}, write it as a slice, `i:i + 1`",
        "src" if of_src else "dst",
    )


def _meant(value: Any, region: Region, other: Region) -> str | None:
    """How to write one side, if a slice would do for one of its indices."""
    wanted, found = _active(other.static_extents()), region.static_extents()
    if not isinstance(value, View) or wanted is None or found is None or _active(found) == wanted:
        return None
    for dim in reversed(value.points):
        for extent in wanted:
            if _active((*found[:dim], extent, *found[dim + 1 :])) == wanted:
                return f"`{region.buffer.name}[{_parts(region, dim, extent)}]`"
    return None


def _active(extents: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if extents is None else tuple(e for e in extents if e != 1)


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
