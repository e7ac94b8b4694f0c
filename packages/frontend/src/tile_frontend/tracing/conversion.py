"""Values on their way into a buffer element: the type they get and what is refused."""

from __future__ import annotations

from typing import Any

from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import python_number, scalar_expr
from tile_ir import BOOL, DType, Expr, binary, cast


def stored_value(value: Any, dtype: DType) -> Expr:
    """The expression that is stored in an element of type `dtype`."""
    number = python_number(value)
    if isinstance(number, float) and dtype.is_integer and not number.is_integer():
        raise Fault(
            "dtype-mismatch",
            f"{number!r} is stored in an element of type {dtype}",
            "write an integer, or T.cast(value, ...) to say how it rounds",
        )
    return cast(scalar_expr(value, dtype), dtype)


def condition(value: Any) -> Expr:
    """A runtime condition; numbers hold where they are not zero."""
    expr = scalar_expr(value)
    return expr if expr.dtype == BOOL else binary("!=", expr, 0)
