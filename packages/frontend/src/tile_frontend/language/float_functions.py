"""Functions of real numbers (docs/rules/kernels.md#scalar-functions): expressions, which
`T.Parallel` turns into vector operations. Python numbers are computed now.

Upstream lets most of them take a `dtype=` that it ignores; scripts pass it, so it is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend.tracing import float_expressions as real
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, power_scalar, python_number, staged
from tile_ir import BOOL, Expr
from tile_ir import expr as ir


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


exp = _function("exp", "e to the power of `x`.", math.exp)
exp2 = _function("exp2", "2 ** x, as the exponential of x ln 2.", lambda x: 2.0**x, real.exp2)
log = _function("log", "The natural logarithm of `x`.", math.log)
log2 = _function("log2", "The logarithm of `x` to the base 2.", math.log2, real.log2)
log10 = _function("log10", "The logarithm of `x` to the base 10.", math.log10, real.log10)
sqrt = _function("sqrt", "The square root of `x`.", math.sqrt)
rsqrt = _function("rsqrt", "One over the square root of `x`.", lambda x: 1.0 / math.sqrt(x))
sin = _function("sin", "The sine of `x`.", math.sin)
cos = _function("cos", "The cosine of `x`.", math.cos)
tanh = _function("tanh", "The hyperbolic tangent of `x`.", math.tanh)
erf = _function("erf", "The error function of `x`.", math.erf)
sigmoid = _function(
    "sigmoid", "1 / (1 + e ** -x).", lambda x: 1.0 / (1.0 + math.exp(-x)), real.sigmoid
)
absolute = _function("abs", "`x` without its sign.", abs)


def _of_finite(native: Callable[[float], float]) -> Callable[[float], float]:
    """A rounding, which leaves infinities and nan as they are."""
    return lambda x: native(x) if math.isfinite(x) else x


floor = _function("floor", "`x` rounded down.", _of_finite(math.floor))
ceil = _function("ceil", "`x` rounded up.", _of_finite(math.ceil))
nearest = _function(
    "round", "The whole number nearest to `x`, of two the even one.", _of_finite(round)
)
trunc = _function("trunc", "`x` without its fraction.", _of_finite(math.trunc))


def _of_floats(
    name: str, doc: str, native: Callable[[float], bool], build: Callable[[Expr], Expr],
    of_integers: bool,
) -> Callable[..., Any]:  # fmt: skip
    """A question about a float, whose answer for all integers is known."""

    def ask(x: Any) -> Any:
        number = None if isinstance(x, Scalar) else python_number(x)
        if number is not None:
            return native(number)
        return staged(lambda e: build(e) if e.dtype.is_float else ir.Const(of_integers, BOOL), x)

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = doc
    return ask


isnan = _of_floats(
    "isnan", "Whether `x` is not a number.", math.isnan, lambda e: ir.not_equal(e, e), False
)
isinf = _of_floats(
    "isinf", "Whether `x` is infinite.", math.isinf,
    lambda e: ir.equal(ir.unary("abs", e), math.inf), False,
)  # fmt: skip
isfinite = _of_floats(
    "isfinite", "Whether `x` is neither infinite nor not a number.", math.isfinite,
    lambda e: ir.unary("abs", e) < math.inf, True,
)  # fmt: skip


def power(x: Any, y: Any, dtype: Any = None) -> Any:
    """`x` to the power of `y`: products for a small integer known now, else a function that only
    the vector unit has."""
    base, exponent = (None if isinstance(v, Scalar) else python_number(v) for v in (x, y))
    if base is not None and exponent is not None:
        try:
            return base**exponent
        except (ZeroDivisionError, OverflowError) as error:
            raise Fault("math-domain", f"pow({base!r}, {exponent!r}): {error}") from None
    return power_scalar(x, y)
