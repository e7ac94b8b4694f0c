"""Bits of integers as functions: `T.bitwise_and(a, b)` is `a & b`. Python numbers: at once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, binary_scalar, python_number, staged
from tile_ir import expr as ir


def _function(name: str, op: str, doc: str, native: Callable[[Any, Any], Any]) -> Any:
    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return binary_scalar(op, a, b)
        left, right = python_number(a), python_number(b)
        if left is None or right is None:
            return staged(lambda x, y: ir.binary(op, x, y), a, b)
        try:
            return native(left, right)
        except (TypeError, ValueError) as error:
            raise Fault("operand-type", f"{name}({left!r}, {right!r}): {error}") from None

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


bitwise_and = _function("bitwise_and", "&", "The bits that `a` and `b` both have.", operator.and_)
bitwise_or = _function("bitwise_or", "|", "The bits that `a` or `b` has.", operator.or_)
bitwise_xor = _function("bitwise_xor", "^", "The bits that one of `a` and `b` has.", operator.xor)
shift_left = _function("shift_left", "<<", "`a` with its bits `b` places higher.", operator.lshift)
shift_right = _function(
    "shift_right", ">>", "`a` with its bits `b` places lower; of a signed type the sign fills up.",
    operator.rshift,
)  # fmt: skip


def bitwise_not(a: Any) -> Any:
    """The bits that `a` has not."""
    number = None if isinstance(a, Scalar) else python_number(a)
    if isinstance(number, int):
        return ~int(number)
    return staged(lambda x: ir.unary("~", x), a)
