"""Compute scalar operators on numbers (docs/language/index.md#numbers).

Constant folding and the interpreter use it; emitted code computes the same in C++
(device/tile/scalar.h). A value is an int, a float that its type holds, or a bool.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tile_ir.dtypes import BOOL, DTYPES, FLOAT32, INT32, DType, held

Number = int | float | bool
INT32_LIMIT = 1 << 31


class DivisionError(ArithmeticError):
    """A division of integers that has no value."""


def wrap(value: Number, dtype: DType) -> Number:
    """The value as `dtype` holds it (integers wrap; floats are left to the store)."""
    if dtype is INT32 and type(value) is int and -INT32_LIMIT <= value < INT32_LIMIT:
        return value  # nearly always
    if dtype is BOOL:
        return bool(value)
    if dtype.is_integer:
        low, _ = dtype.limits()
        return (int(value) - low) % (1 << dtype.bits) + low
    return float(value)


def rounded(value: Number, dtype: DType) -> Number:
    """A result as its type holds it: integers wrap, floats round to the nearest, ties to even."""
    if not dtype.is_float:
        return wrap(value, dtype)
    # Zeros of both signs are equal, so they must not meet in the cache.
    return _held(float(value), dtype.name) if value else float(value)


@lru_cache(maxsize=4096)
def _held(value: float, name: str) -> float:
    return held(value, DTYPES[name])


def converted(value: Number, dtype: DType) -> Number:
    """The value as another type. A float goes towards zero to an integer, beyond its range to its
    end, NaN to 0; an integer wraps, and reaches a type of 16 bits by way of float32."""
    if dtype is BOOL:
        return bool(value)
    if not isinstance(value, float):
        if not dtype.is_float:
            return wrap(value, dtype)
        return rounded(_nearest(int(value)) if dtype.bits <= FLOAT32.bits else value, dtype)
    if dtype.is_float:
        return rounded(value, dtype)
    low, high = dtype.limits()
    if value != value:
        return 0
    return high if value >= high else low if value <= low else int(value)


def _nearest(value: int) -> float:
    """The float32 nearest to an integer of at most 64 bits, in one rounding."""
    excess = max(0, abs(value).bit_length() - 24)
    whole, rest, half = abs(value) >> excess, abs(value) & ((1 << excess) - 1), (1 << excess) >> 1
    up = excess and (rest > half or (rest == half and whole & 1))
    return math.copysign(float((whole + int(up)) << excess), value)


def computed(op: str, x: Number, y: Number, dtype: DType) -> Number:
    """`x op y` of two operands of one type, in it; a truth value where the operator gives one.

    Raises DivisionError.
    """
    return _OPERATORS[op](x, y, dtype)


def applied(op: str, x: Number, dtype: DType) -> Number:
    """`-x`, `~x`, `not x` or a function of one argument, in a type."""
    match op:
        case "not":
            return not x
        case "-":
            return rounded(-x, dtype)
        case "~":
            return wrap(~int(x), dtype)
    if isinstance(x, float) and op in ROUNDINGS and not math.isfinite(x):
        return x
    try:
        value = UNARY_FUNCTIONS[op](x)
    except OverflowError:
        value = math.inf
    except (ValueError, ZeroDivisionError):
        if op == "log" and x == 0:
            value = -math.inf
        else:
            value = math.inf if op == "rsqrt" and x == 0 else math.nan
    return rounded(value, dtype)


UNARY_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "abs": abs,
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
}
# Those that an integer is converted to float for.
FLOAT_FUNCTIONS = frozenset({"exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos"})
ROUNDINGS = frozenset({"floor", "ceil", "round", "trunc"})


def least(x: Number, y: Number) -> Number:
    """The smaller one; NaN wins, and -0 is below 0."""
    if x != x or y != y:
        return math.nan
    return y if y < x or (x == y == 0 and math.copysign(1, y) < 0) else x


def greatest(x: Number, y: Number) -> Number:
    """The larger one; NaN wins, and 0 is above -0."""
    if x != x or y != y:
        return math.nan
    return y if y > x or (x == y == 0 and math.copysign(1, x) < 0) else x


def quotient(x: Number, y: Number, dtype: DType) -> Number:
    """The quotient, rounded down. Raises DivisionError for a zero divisor, and for a quotient that
    the type cannot hold."""
    if y == 0:
        raise DivisionError(f"{x} // 0")
    if y == -1 and x == dtype.limits()[0] < 0:
        raise DivisionError(f"{x} // -1 is no {dtype}")
    return wrap(x // y, dtype)


def remainder(x: Number, y: Number, dtype: DType) -> Number:
    """With the sign of the divisor. Raises DivisionError of zero."""
    if y == 0:
        raise DivisionError(f"{x} % 0")
    return wrap(x % y, dtype)


def divided(x: Number, y: Number) -> Number:
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def shifted_left(x: Number, count: Number, dtype: DType) -> Number:
    """By as many bits as there are, and by negative counts, 0."""
    return wrap(int(x) << int(count), dtype) if 0 <= count < dtype.bits else 0


def shifted_right(x: Number, count: Number, dtype: DType) -> Number:
    """By as many bits as there are, and by negative counts, the sign alone."""
    return int(x) >> (int(count) if 0 <= count < dtype.bits else dtype.bits)


def power(base: Number, exponent: Number) -> Number:
    """Power as the vector unit computes it: of integers 0 for a negative exponent, unless the base
    is 1 or -1. NaN stays NaN, zero has no sign, and a power without a real value is NaN."""
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent >= 0:
            return int(pow(base, exponent, 1 << 64)) if abs(base) > 1 else int(base**exponent)
        return int(base ** (exponent % 2)) if abs(base) == 1 else 0
    x, y = float(base) + 0.0, float(exponent)
    if x != x or y != y or (x == -math.inf and not y.is_integer()):
        return math.nan
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


Operator = Callable[[Number, Number, DType], Number]


def _of(fn: Callable[[Number, Number], Number]) -> Operator:
    """A function of two numbers whose result is rounded or wraps."""
    return lambda x, y, dtype: rounded(fn(x, y), dtype)


def _true(fn: Callable[[Number, Number], bool]) -> Operator:
    return lambda x, y, dtype: fn(x, y)


# Of integers that need not fit any type, and of what stands for them.
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": lambda x, y: bool(x) and bool(y),
    "or": lambda x, y: bool(x) or bool(y),
}
_OPERATORS: dict[str, Operator] = {
    **{op: _of(EXACT[op]) for op in ("+", "-", "*")},
    **{op: _true(EXACT[op]) for op in ("<", "<=", ">", ">=", "==", "!=", "and", "or")},
    "/": _of(divided),
    "//": quotient,
    "%": remainder,
    "min": _of(least),
    "max": _of(greatest),
    "pow": _of(power),
    "<<": shifted_left,
    ">>": shifted_right,
    "&": _of(lambda x, y: int(x) & int(y)),
    "|": _of(lambda x, y: int(x) | int(y)),
    "^": _of(lambda x, y: int(x) ^ int(y)),
}
