"""Functions of real numbers (docs/rules/kernels.md#scalar-functions): expressions, which
`T.Parallel` turns into vector operations. Python numbers are computed now.

Upstream lets most of them take a `dtype=` that it ignores; scripts pass it, so it is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.values import Scalar, python_number, staged
from tile_ir import expr as ir
from tile_ir.dtypes import FLOAT32
from tile_ir.expr import Expr

# Integers up to this power are products; the square root of a number is its power of a half.
MOST_FACTORS = 16


def _function(
    name: str, doc: str, native: Callable[[float], Any], build: Callable[[Expr], Expr] | None = None
) -> Callable[..., Any]:
    def apply(x: Any, dtype: Any = None) -> Any:
        number = None if isinstance(x, Scalar) else python_number(x)
        if number is None:
            return staged(build or (lambda e: ir.unary(name, e)), x)
        try:
            return native(number)
        except (ValueError, OverflowError) as error:
            raise Fault("math-domain", f"{name}({number!r}): {error}") from None

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


def _as_float(x: Expr) -> Expr:
    return x if x.dtype.is_float else ir.cast(x, FLOAT32)


def _exp2(x: Expr) -> Expr:
    return ir.unary("exp", _as_float(x) * math.log(2.0))


def _log2(x: Expr) -> Expr:
    return ir.unary("log", _as_float(x)) * (1.0 / math.log(2.0))


def _log10(x: Expr) -> Expr:
    return ir.unary("log", _as_float(x)) * (1.0 / math.log(10.0))


def _sigmoid(x: Expr) -> Expr:
    return 1.0 / (ir.unary("exp", -_as_float(x)) + 1.0)


exp = _function("exp", "e to the power of `x`.", math.exp)
exp2 = _function("exp2", "2 ** x, as the exponential of x ln 2.", lambda x: 2.0**x, _exp2)
log = _function("log", "The natural logarithm of `x`.", math.log)
log2 = _function("log2", "The logarithm of `x` to the base 2.", math.log2, _log2)
log10 = _function("log10", "The logarithm of `x` to the base 10.", math.log10, _log10)
sqrt = _function("sqrt", "The square root of `x`.", math.sqrt)
rsqrt = _function("rsqrt", "One over the square root of `x`.", lambda x: 1.0 / math.sqrt(x))
sin = _function("sin", "The sine of `x`.", math.sin)
cos = _function("cos", "The cosine of `x`.", math.cos)
tanh = _function("tanh", "The hyperbolic tangent of `x`.", math.tanh)
erf = _function("erf", "The error function of `x`.", math.erf)
sigmoid = _function("sigmoid", "1 / (1 + e ** -x).", lambda x: 1.0 / (1.0 + math.exp(-x)), _sigmoid)
absolute = _function("abs", "`x` without its sign.", abs)
floor = _function("floor", "`x` rounded down.", math.floor)
ceil = _function("ceil", "`x` rounded up.", math.ceil)
nearest = _function("round", "The whole number nearest to `x`, of two the even one.", round)
trunc = _function("trunc", "`x` without its fraction.", math.trunc)


def power(x: Any, y: Any, dtype: Any = None) -> Any:
    """`x` to the power of `y`: products for a small integer known now, else a function that only
    the vector unit has."""
    base, exponent = (None if isinstance(v, Scalar) else python_number(v) for v in (x, y))
    if base is not None and exponent is not None:
        try:
            return base**exponent
        except (ZeroDivisionError, OverflowError) as error:
            raise Fault("math-domain", f"pow({base!r}, {exponent!r}): {error}") from None
    return staged(lambda a, b: _power(a, b, exponent, base), x, y)


def _power(x: Expr, y: Expr, exponent: float | None, base: float | None) -> Expr:
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
        return _exp2(y)
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
