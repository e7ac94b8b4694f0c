"""Define functions of numbers: expressions, which `T.Parallel` turns into vector operations
(docs/rules/kernels.md#scalar-functions). Python numbers are computed now.

Upstream lets most of them take a `dtype=` that it ignores; scripts pass it, so it is accepted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.float_expressions import as_float, exp2
from tile_frontend._tracing.scalars import Scalar, power_scalar, python_number, staged
from tile_ir import BOOL, Expr
from tile_ir import expr as ir

Function = Callable[..., Any]


def _computed(name: str, slug: str, native: Function, build: Function, *values: Any) -> Any:
    """`native` of numbers that are known now, else `build` of their expressions."""
    numbers = [None if isinstance(v, Scalar) else python_number(v) for v in values]
    if None in numbers:
        return staged(build, *values)
    try:
        return native(*numbers)
    except (TypeError, ValueError, ArithmeticError) as error:
        shown = ", ".join(map(repr, numbers))
        raise Fault(slug, f"{name}({shown}): {error}") from None


def _real(name: str, doc: str, native: Function, build: Function | None = None) -> Function:
    def apply(x: Any, dtype: Any = None) -> Any:
        return _computed(name, "math-domain", native, build or (lambda e: ir.unary(name, e)), x)

    return _named(apply, name, doc)


def _bits(name: str, doc: str, op: str, native: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        return _computed(name, "operand-type", native, lambda x, y: ir.binary(op, x, y), a, b)

    return _named(apply, name, doc)


def _asked(
    name: str, doc: str, native: Function, build: Callable[[Expr], Expr], of_integers: bool
) -> Function:
    """A question about a float, whose answer for all integers is known."""

    def ask(x: Any) -> Any:
        def answer(e: Expr) -> Expr:
            return build(e) if e.dtype.is_float else ir.Const(of_integers, BOOL)

        return _computed(name, "math-domain", native, answer, x)

    return _named(ask, name, doc)


def _named(function: Function, name: str, doc: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _of_finite(native: Callable[[float], float]) -> Callable[[float], float]:
    """A rounding, which leaves infinities and nan as they are."""
    return lambda x: native(x) if math.isfinite(x) else x


def bitwise_not(a: Any) -> Any:
    """The bits that `a` has not."""
    number = None if isinstance(a, Scalar) else python_number(a)
    return ~int(number) if isinstance(number, int) else staged(lambda x: ir.unary("~", x), a)


def power(x: Any, y: Any, dtype: Any = None) -> Any:
    """`x` to the power of `y`: products for a small integer known now, else a function that only
    the vector unit has."""
    if any(isinstance(v, Scalar) or python_number(v) is None for v in (x, y)):
        return power_scalar(x, y)
    return _computed("pow", "math-domain", operator.pow, ir.binary, x, y)


_FUNCTIONS = (
    _real("exp", "e to the power of `x`.", math.exp),
    _real("exp2", "2 ** x, as the exponential of x ln 2.", lambda x: 2.0**x, exp2),
    _real("log", "The natural logarithm of `x`.", math.log),
    _real("log2", "The logarithm of `x` to the base 2.", math.log2,
          lambda x: ir.unary("log", as_float(x)) * (1.0 / math.log(2.0))),
    _real("log10", "The logarithm of `x` to the base 10.", math.log10,
          lambda x: ir.unary("log", as_float(x)) * (1.0 / math.log(10.0))),
    _real("sqrt", "The square root of `x`.", math.sqrt),
    _real("rsqrt", "One over the square root of `x`.", lambda x: 1.0 / math.sqrt(x)),
    _real("sin", "The sine of `x`.", math.sin),
    _real("cos", "The cosine of `x`.", math.cos),
    _real("tanh", "The hyperbolic tangent of `x`.", math.tanh),
    _real("erf", "The error function of `x`.", math.erf),
    _real("sigmoid", "1 / (1 + e ** -x).", lambda x: 1.0 / (1.0 + math.exp(-x)),
          lambda x: 1.0 / (ir.unary("exp", -as_float(x)) + 1.0)),
    _real("abs", "`x` without its sign.", abs),
    _real("floor", "`x` rounded down.", _of_finite(math.floor)),
    _real("ceil", "`x` rounded up.", _of_finite(math.ceil)),
    _real("round", "The whole number nearest to `x`, of two the even one.", _of_finite(round)),
    _real("trunc", "`x` without its fraction.", _of_finite(math.trunc)),
    _asked("isnan", "Whether `x` is not a number.", math.isnan,
           lambda e: ir.not_equal(e, e), False),
    _asked("isinf", "Whether `x` is infinite.", math.isinf,
           lambda e: ir.equal(ir.unary("abs", e), math.inf), False),
    _asked("isfinite", "Whether `x` is neither infinite nor not a number.", math.isfinite,
           lambda e: ir.unary("abs", e) < math.inf, True),
    _bits("bitwise_and", "The bits that `a` and `b` both have.", "&", operator.and_),
    _bits("bitwise_or", "The bits that `a` or `b` has.", "|", operator.or_),
    _bits("bitwise_xor", "The bits that one of `a` and `b` has.", "^", operator.xor),
    _bits("shift_left", "`a` with its bits `b` places higher.", "<<", operator.lshift),
    _bits("shift_right", "`a` with its bits `b` places lower; of a signed type the sign fills up.",
          ">>", operator.rshift),
    bitwise_not,
)  # fmt: skip
FUNCTIONS: dict[str, Function] = {**{f.__name__: f for f in _FUNCTIONS}, "pow": power}
