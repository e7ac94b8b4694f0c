"""`buf[...]`: indices and slices as an element load or a region
(docs/rules/kernels.md#subscripts)."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.values import (
    Scalar,
    Tile,
    View,
    describe,
    integer_hint,
    python_number,
    scalar_expr,
)
from tile_ir import Memory, Region, Slice
from tile_ir.bounds import simplify
from tile_ir.expr import Const, Expr, Load, constant_value


def subscript(tile: Tile, index: Any) -> Scalar | View:
    """An element where every index is a number, else a region of the buffer."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != len(tile.dims):
        raise Fault(
            "rank-mismatch",
            f"`{tile.name}` has {len(tile.dims)} {_plural('dimension', len(tile.dims))}, "
            f"found {len(parts)} {_plural('index', len(parts))}",
            "give one index or slice per dimension; `:` takes a whole one",
        )
    if not any(isinstance(p, slice) for p in parts):
        return Scalar(Load(tile.buffer, tuple(_index(tile, p, i) for i, p in enumerate(parts))))
    dims = tuple(
        _slice(tile, p, i) if isinstance(p, slice) else Slice(_index(tile, p, i), Const(1))
        for i, p in enumerate(parts)
    )
    points = tuple(i for i, p in enumerate(parts) if not isinstance(p, slice))
    return View(Region(tile.buffer, dims), points)


def _plural(word: str, count: int) -> str:
    plurals = {"dimension": "dimensions", "index": "indices"}
    return word if count == 1 else plurals[word]


def _index(tile: Tile, value: Any, position: int) -> Expr:
    number = python_number(value)
    if number is None and not isinstance(value, Scalar):
        raise Fault(
            "index-type",
            f"index {position} of `{tile.name}` is {describe(value)}, expected an integer",
            argument=position,
        )
    expr = scalar_expr(value if number is None else number)
    if not expr.dtype.is_integer:
        raise Fault(
            "index-type",
            f"index {position} of `{tile.name}` is {expr.dtype}, expected an integer",
            integer_hint(value),
            position,
        )
    limit = None if tile.memory is Memory.GM else constant_value(tile.dims[position])
    constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(tile, constant, position)
        if limit is not None and constant >= limit:
            raise Fault(
                "index-range",
                f"index {position} of `{tile.name}` is {constant}, "
                f"but the dimension has {limit} elements",
                argument=position,
            )
    return expr


def _check_not_negative(tile: Tile, number: int, position: int) -> None:
    if number < 0:
        raise Fault(
            "index-range",
            f"index {position} of `{tile.name}` is {number}",
            "indices do not count from the end here",
            position,
        )


def _slice(tile: Tile, value: slice, position: int) -> Slice:
    if value.step is not None and python_number(value.step) != 1:
        raise Fault(
            "slice-step",
            f"a slice of `{tile.name}` has a step",
            "slices take every element: copy or compute whole runs",
            position,
        )
    size = tile.dims[position]
    start = Const(0) if value.start is None else _bound(tile, value.start, position)
    stop = size if value.stop is None else _bound(tile, value.stop, position)
    extent = simplify(stop - start)
    length, limit, end = (constant_value(e) for e in (extent, size, stop))
    if length is not None and length <= 0:
        raise Fault(
            "empty-slice",
            f"slice {position} of `{tile.name}` has {length} elements",
            "the stop of a slice is after its start",
            position,
        )
    # On chip nothing lies behind a buffer; a tile of a tensor may hang over its edge.
    if tile.memory is not Memory.GM and limit is not None and end is not None and end > limit:
        raise Fault(
            "index-range",
            f"slice {position} of `{tile.name}` ends at {end}, "
            f"but the dimension has {limit} elements",
            argument=position,
        )
    return Slice(start, extent)


def _bound(tile: Tile, value: Any, position: int) -> Expr:
    number = python_number(value)
    if number is None and not isinstance(value, Scalar):
        raise Fault(
            "index-type",
            f"a bound of slice {position} of `{tile.name}` is {describe(value)}, "
            "expected an integer",
            argument=position,
        )
    expr = scalar_expr(value if number is None else number)
    if not expr.dtype.is_integer:
        raise Fault(
            "index-type",
            f"a bound of slice {position} of `{tile.name}` is {expr.dtype}, expected an integer",
            integer_hint(value),
            position,
        )
    constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(tile, constant, position)
    return expr
