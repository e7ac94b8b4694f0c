"""Build functions of real numbers as expressions of the IR."""

from __future__ import annotations

import math

from tile_ir import FLOAT32, Expr
from tile_ir import expr as ir

# Integers up to this power are products; the square root of a number is its power of a half.
MOST_FACTORS = 16


def as_float(x: Expr) -> Expr:
    """The value itself, or an integer as float32."""
    return x if x.dtype.is_float else ir.cast(x, FLOAT32)


def exp2(x: Expr) -> Expr:
    """2 ** x, as the exponential of x ln 2."""
    return ir.unary("exp", as_float(x) * math.log(2.0))


def power(x: Expr, y: Expr, exponent: float | None, base: float | None) -> Expr:
    """`x ** y`, where `exponent` and `base` are the numbers that they are, if that is known."""
    if exponent is not None and x.dtype.is_float and float(exponent).is_integer():
        exponent = int(exponent)
    if isinstance(exponent, int) and 0 <= exponent <= MOST_FACTORS:
        return _product(x, exponent)
    if isinstance(exponent, int) and x.dtype.is_float and -MOST_FACTORS <= exponent < 0:
        return 1.0 / _product(x, -exponent)
    if exponent is not None and x.dtype.is_integer:
        x = ir.cast(x, FLOAT32) if isinstance(exponent, float) else x
        y = ir.as_expr(exponent, x.dtype)
    if exponent == 0.5 and x.dtype.is_float:
        return ir.unary("sqrt", x)
    if base == 2 and y.dtype.is_float:
        return exp2(y)
    return ir.binary("pow", x, y)


def _product(x: Expr, factors: int) -> Expr:
    """x * x * ..., by squaring."""
    if factors == 0:
        return ir.as_expr(1, x.dtype)
    if factors == 1:
        return x
    half = _product(x, factors // 2)
    square = half * half
    return square * x if factors % 2 else square
