"""Scalar functions of the language (docs/rules/kernels.md#scalar-functions). Python numbers are
computed now.

Upstream lets most of them take a `dtype=` that it ignores; scripts pass it, so it is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.dtype_names import DataType, element_type
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    binary_scalar,
    condition,
    describe,
    python_number,
    scalar_expr,
    staged,
)
from tile_ir import Const, Expr, Kind
from tile_ir import expr as ir
from tile_ir.scalars.arithmetic import greatest, least


class KnownInteger(int):
    """A Python int that is also asked for its `value`, as the constants of other compilers are."""

    @property
    def value(self) -> int:
        return int(self)


def _known(number: Any) -> Any:
    """What the compiler computed from Python numbers."""
    return KnownInteger(number) if type(number) is int else number


def _both_python(a: Any, b: Any) -> bool:
    return not isinstance(a, Scalar) and not isinstance(b, Scalar) and None not in (
        python_number(a), python_number(b)
    )  # fmt: skip


def _divisor(b: Any) -> None:
    if python_number(b) == 0:
        raise Fault("division-by-zero", "the divisor is 0", argument="b")


def ceildiv(a: Any, b: Any, dtype: Any = None) -> Any:
    """The quotient of integers rounded up."""
    _divisor(b)
    if _both_python(a, b):
        return _known(-(-a // b))
    return staged(ir.ceildiv, a, b)


def floordiv(a: Any, b: Any, dtype: Any = None) -> Any:
    """`a // b`, rounded down also for negative numbers."""
    _divisor(b)
    return _known(a // b) if _both_python(a, b) else binary_scalar("//", a, b)


def floormod(a: Any, b: Any, dtype: Any = None) -> Any:
    """`a % b`, with the sign of `b`."""
    _divisor(b)
    return _known(a % b) if _both_python(a, b) else binary_scalar("%", a, b)


def truncdiv(a: Any, b: Any) -> Any:
    """The quotient of integers rounded towards 0, as C divides."""
    return _truncated(a, b, lambda quotient, rest, divisor: (quotient, quotient + 1))


def truncmod(a: Any, b: Any) -> Any:
    """What `truncdiv` leaves: `a % b` of C, with the sign of `a`."""
    return _truncated(a, b, lambda quotient, rest, divisor: (rest, rest - divisor))


def _truncated(a: Any, b: Any, parts: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """One of the `parts` of a division that rounds down: the second where it must round up."""
    _divisor(b)
    if _both_python(a, b):
        down, up = parts(a // b, a % b, b)
        return _known(up if a % b and (a < 0) != (b < 0) else down)

    def divided(x: Expr, y: Expr) -> Expr:
        down: Expr
        down, up = parts(x // y, x % y, y)
        if down.dtype.kind is Kind.UINT:
            return down
        below = x < 0 if isinstance(y, Const) and y.value > 0 else ir.not_equal(x < 0, y < 0)
        return ir.select(ir.binary("and", ir.not_equal(x % y, 0), below), up, down)

    return staged(divided, a, b)


def clamp(x: Any, min_val: Any, max_val: Any) -> Any:
    """`x`, but not less than `min_val` and not more than `max_val`."""
    return minimum(maximum(x, min_val), max_val)


def maximum(a: Any, b: Any, *more: Any, dtype: Any = None) -> Any:
    """The largest of some numbers."""
    return _extreme("max", greatest, (a, b, *more))


def minimum(a: Any, b: Any, *more: Any, dtype: Any = None) -> Any:
    """The smallest of some numbers."""
    return _extreme("min", least, (a, b, *more))


def _extreme(op: str, native: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    """Two after two; the name of a type at the end is the `dtype` of older scripts."""
    numbers = values[:-1] if len(values) > 2 and _is_type(values[-1]) else values
    found = numbers[0]
    for value in numbers[1:]:
        both = _both_python(found, value)
        found = _known(native(found, value)) if both else binary_scalar(op, found, value)
    return found


def _is_type(value: Any) -> bool:
    return isinstance(value, (str, DataType))


def if_then_else(cond: Any, then: Any, orelse: Any, dtype: Any = None) -> Any:
    """`then` where `cond` holds, else `orelse`; only one of them is evaluated."""
    if not isinstance(cond, Scalar) and python_number(cond) is not None:
        return then if cond else orelse
    test = condition(cond)
    return staged(lambda a, b: ir.select(test, a, b), then, orelse)


def And(a: Any, b: Any, *more: Any) -> Any:
    """Whether all conditions hold."""
    return _logical("and", (a, b, *more))


def Or(a: Any, b: Any, *more: Any) -> Any:
    """Whether any condition holds."""
    return _logical("or", (a, b, *more))


def _logical(op: str, values: tuple[Any, ...]) -> Scalar:
    total = condition(values[0])
    for value in values[1:]:
        total = ir.binary(op, total, condition(value))
    return Scalar(total)


def Not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return Scalar(ir.unary("not", condition(a)))


def infinity(dtype: Any) -> Scalar:
    """Positive infinity of a float type."""
    target = element_type(dtype)
    if not target.is_float:
        raise Fault("operand-type", f"{target} has no infinity", argument="dtype")
    return Scalar(Const(math.inf, target))


def max_value(dtype: Any) -> Scalar:
    """The largest finite number of a type."""
    target = element_type(dtype)
    return Scalar(Const(target.largest, target))


def min_value(dtype: Any) -> Scalar:
    """The smallest finite number of a type: of floats the largest one below 0."""
    target = element_type(dtype)
    return Scalar(Const(target.limits()[0] if target.is_integer else -target.largest, target))


def cast(value: Any, dtype: Any) -> Scalar:
    """The value as another type."""
    target = element_type(dtype)
    return staged(lambda e: ir.cast(e, target), _typed(value))


def Cast(dtype: Any, value: Any) -> Scalar:
    """`cast` with the type first."""
    return cast(value, dtype)


def _typed(value: Any) -> Any:
    return value if isinstance(value, Scalar) else Scalar(scalar_expr(value))


def reinterpret(dtype: Any, value: Any) -> Scalar:
    """The bits of the value as another type of the same width."""
    target = element_type(dtype)
    expr = scalar_expr(value)
    if expr.dtype.bits != target.bits:
        raise Fault(
            "operand-type",
            f"{expr.dtype} has {expr.dtype.bits} bits, {target} has {target.bits}",
            "reinterpret keeps the width: T.cast converts",
            "value",
        )
    return Scalar(expr if expr.dtype == target else ir.Cast(expr, target, True))


def symbolic(name: str, dtype: Any = "int32") -> Scalar:
    """A dimension whose size is known when the kernel is called."""
    if not isinstance(name, str) or not name.isidentifier():
        raise Fault(
            "symbol-name", f"a symbolic dimension is called {describe(name)}, expected a name",
            argument="name",
        )  # fmt: skip
    target = element_type(dtype)
    if not target.is_integer:
        raise Fault(
            "symbol-type", f"`{name}` is {target}, expected an integer type", argument="dtype"
        )
    return Scalar(ir.Var(name, target))


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


def cdiv(a: int, b: int) -> int:
    """The quotient of Python ints rounded up."""
    return -(-a // b)
