"""Turn `buf[...]` into an element load or a region (docs/rules/kernels.md#subscripts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tile_frontend._tracing.dtype_names import DataType
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    Value,
    as_python,
    integer_hint,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_ir import Buffer, Const, Expr, Load, Memory, Region, Slice, constant_value, distance

# Copies cut a tile at the end of a tensor, not at its start.
BEFORE_A_TENSOR = (
    "a tile that begins before its tensor is filled first, and what exists is copied behind that: "
    "T.tile.fill(tile, 0), T.copy(x[0:n], tile[1:n + 1])"
)
READ_ONE = "read one element with buf[i], or compute on tiles with T.tile operations"


@dataclass(frozen=True, slots=True, eq=False)
class View(Value):
    """A slice of a buffer. `points` are the dimensions that have an index instead of a slice."""

    __array_ufunc__: ClassVar[None] = None
    a_scalar_of_it = READ_ONE
    region: Region
    points: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(as_python(e) for e in self.region.extents)

    @property
    def dtype(self) -> DataType:
        return DataType(self.region.dtype.name)

    def in_words(self) -> str:
        return f"a slice of `{self.region.buffer.name}`"


def subscript(buffer: Buffer, index: Any) -> Scalar | View:
    """An element where every index is a number, else a region of the buffer."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != len(buffer.shape):
        raise Fault(
            "rank-mismatch",
            f"`{buffer.name}` has {len(buffer.shape)} {_plural('dimension', len(buffer.shape))}, "
            f"found {len(parts)} {_plural('index', len(parts))}",
            "give one index or slice per dimension; `:` takes a whole one",
        )
    if not any(isinstance(p, slice) for p in parts):
        return Scalar(Load(buffer, tuple(_index(buffer, p, i) for i, p in enumerate(parts))))
    dims = tuple(
        _slice(buffer, p, i) if isinstance(p, slice) else Slice(_index(buffer, p, i), Const(1))
        for i, p in enumerate(parts)
    )
    points = tuple(i for i, p in enumerate(parts) if not isinstance(p, slice))
    return View(Region(buffer, dims), points)


def _plural(word: str, count: int) -> str:
    plurals = {"dimension": "dimensions", "index": "indices"}
    return word if count == 1 else plurals[word]


def _index(buffer: Buffer, value: Any, position: int) -> Expr:
    expr = _integer(value, f"index {position} of `{buffer.name}`", position)
    limit = None if buffer.memory is Memory.GM else constant_value(buffer.shape[position])
    constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(buffer, constant, position)
        if limit is not None and constant >= limit:
            raise Fault(
                "index-range",
                f"index {position} of `{buffer.name}` is {constant}, "
                f"but the dimension has {limit} elements",
                argument=position,
            )
    return expr


def _integer(value: Any, what: str, position: int) -> Expr:
    number = python_number(value)
    if number is None and not isinstance(value, Scalar):
        raise unexpected(what, value, "an integer", None, position, "index-type")
    expr = scalar_expr(value if number is None else number)
    if not expr.dtype.is_integer:
        found = f"{what} is {expr.dtype}, expected an integer"
        raise Fault("index-type", found, integer_hint(value), position)
    return expr


def _check_not_negative(buffer: Buffer, number: int, position: int) -> None:
    if number < 0:
        raise Fault(
            "index-range",
            f"index {position} of `{buffer.name}` is {number}",
            "indices do not count from the end here"
            + (f"; {BEFORE_A_TENSOR}" if buffer.memory is Memory.GM else ""),
            position,
        )


def _slice(buffer: Buffer, value: slice, position: int) -> Slice:
    if value.step is not None and python_number(value.step) != 1:
        raise Fault(
            "slice-step",
            f"a slice of `{buffer.name}` has a step",
            "slices take every element: copy or compute whole runs",
            position,
        )
    size = buffer.shape[position]
    start = Const(0) if value.start is None else _bound(buffer, value.start, position)
    stop = size if value.stop is None else _bound(buffer, value.stop, position)
    extent = distance(start, stop)
    length, limit, end = (constant_value(e) for e in (extent, size, stop))
    if length is not None and length <= 0:
        raise Fault(
            "empty-slice",
            f"slice {position} of `{buffer.name}` has {length} elements",
            "the stop of a slice is after its start",
            position,
        )
    # On chip nothing lies behind a buffer; a tile of a tensor may hang over its edge.
    if buffer.memory is not Memory.GM and limit is not None and end is not None and end > limit:
        raise Fault(
            "index-range",
            f"slice {position} of `{buffer.name}` ends at {end}, "
            f"but the dimension has {limit} elements",
            argument=position,
        )
    return Slice(start, extent)


def _bound(buffer: Buffer, value: Any, position: int) -> Expr:
    expr = _integer(value, f"a bound of slice {position} of `{buffer.name}`", position)
    constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(buffer, constant, position)
    return expr
