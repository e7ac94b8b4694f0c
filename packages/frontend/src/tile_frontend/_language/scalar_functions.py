"""Scalar functions of the language (docs/language/index.md#scalar-functions). Python numbers are
computed now; expressions of the others become vector operations in `T.Parallel`.

Upstream lets most of them take a `dtype=` that it ignores; scripts pass it, so it is accepted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tile_frontend._language.element_mathematics import away_from_zero
from tile_frontend._tracing.declared_types import operated
from tile_frontend._tracing.dtype_names import DataType, element_type
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    as_float,
    binary_scalar,
    condition,
    describe,
    exp2,
    power_scalar,
    python_number,
    staged,
    unexpected,
)
from tile_ir import BOOL, Const, Expr, Kind
from tile_ir import expr as ir
from tile_ir.scalars.arithmetic import greatest, least


class KnownInteger(int):
    """A Python int with a `value`, like the constants of other compilers."""

    @property
    def value(self) -> int:
        return int(self)


def _known(number: Any) -> Any:
    """A number that the compiler computed from Python numbers."""
    return KnownInteger(number) if type(number) is int else number


def _numbers(*values: Any) -> list[Any] | None:
    """The values as Python numbers, if all are known now."""
    found = [None if isinstance(v, Scalar) else python_number(v) for v in values]
    return None if None in found else found


def _divisor(b: Any) -> None:
    if python_number(b) == 0:
        hint = "divide by a number other than 0"
        raise Fault("division-by-zero", "the divisor is 0", hint, argument="b")


def ceildiv(a: Any, b: Any, dtype: Any = None) -> Any:
    """The quotient of integers rounded up."""
    _divisor(b)
    if _numbers(a, b):
        return _known(-(-a // b))
    return staged(ir.ceildiv, a, b)


def floordiv(a: Any, b: Any, dtype: Any = None) -> Any:
    """`a // b`, rounded down also for negative numbers."""
    _divisor(b)
    return _known(a // b) if _numbers(a, b) else binary_scalar("//", a, b)


def floormod(a: Any, b: Any, dtype: Any = None) -> Any:
    """`a % b`, with the sign of `b`."""
    _divisor(b)
    return _known(a % b) if _numbers(a, b) else binary_scalar("%", a, b)


def truncdiv(a: Any, b: Any) -> Any:
    """The quotient of integers rounded towards 0, as C divides."""
    return _truncated(a, b, lambda quotient, rest, divisor: (quotient, quotient + 1))


def truncmod(a: Any, b: Any) -> Any:
    """The remainder of `truncdiv`: `a % b` of C, with the sign of `a`."""
    return _truncated(a, b, lambda quotient, rest, divisor: (rest, rest - divisor))


def _truncated(a: Any, b: Any, parts: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """One of the `parts` of a division that rounds down: the second where it must round up."""
    _divisor(b)
    if _numbers(a, b):
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
        both = _numbers(found, value)
        found = _known(native(found, value)) if both else binary_scalar(op, found, value)
    return found


def _is_type(value: Any) -> bool:
    return isinstance(value, (str, DataType))


def if_then_else(cond: Any, then: Any, orelse: Any, dtype: Any = None) -> Any:
    """`then` where `cond` holds, else `orelse`; only one of them is evaluated."""
    if _numbers(cond):
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


def assume(condition: Any) -> None:
    """A condition that the author states, without effect here; a surely false one is a Fault."""
    if python_number(condition) is None and not isinstance(condition, Scalar):
        raise unexpected("assume: the condition", condition)
    if python_number(condition) == 0:
        hint = "leave the call out, or correct the condition"
        raise Fault("operand-kind", "assume: the condition is false", hint, argument="condition")


def infinity(dtype: Any) -> Scalar:
    """Positive infinity of a float type."""
    target = element_type(dtype)
    if not target.is_float:
        hint = "write float16, bfloat16 or float32"
        raise Fault("operand-type", f"{target} has no infinity", hint, argument="dtype")
    return Scalar(Const(math.inf, target))


def max_value(dtype: Any) -> Scalar:
    """The largest finite number of a type."""
    target = element_type(dtype)
    return Scalar(Const(target.largest, target))


def min_value(dtype: Any) -> Scalar:
    """The smallest finite number of a type: of floats the largest one below 0."""
    target = element_type(dtype)
    return Scalar(Const(target.limits()[0] if target.is_integer else -target.largest, target))


def symbolic(name: str, dtype: Any = "int32") -> Any:
    """A dimension whose size is known when the kernel is called; a tuple of them for several names,
    which commas or blanks part."""
    several = name.replace(",", " ").split() if isinstance(name, str) else []
    if len(several) > 1:
        return tuple(symbolic(each, dtype) for each in several)
    if not isinstance(name, str) or not name.isidentifier():
        message = f"a symbolic dimension is called {describe(name)}, expected a name"
        hint = 'write a Python name: T.symbolic("m")'
        raise Fault("symbol-name", message, hint, argument="name")
    target = element_type(dtype)
    if not target.is_integer:
        message = f"`{name}` is {target}, expected an integer type"
        hint = "write int32 or int64"
        raise Fault("symbol-type", message, hint, argument="dtype")
    return Scalar(ir.Var(name, target))


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


def cdiv(a: int, b: int) -> int:
    """The quotient of Python ints rounded up."""
    return -(-a // b)


Function = Callable[..., Any]


def _computed(name: str, slug: str, native: Function, build: Function, *values: Any) -> Any:
    """`native` of numbers that are known now, else `build` of their expressions."""
    numbers = _numbers(*values)
    if numbers is None:
        return staged(build, *values)
    try:
        return native(*numbers)
    except (TypeError, ValueError, ArithmeticError) as error:
        shown = ", ".join(map(repr, numbers))
        hint = "pass numbers for which the function is defined"
        raise Fault(slug, f"{name}({shown}): {error}", hint) from None


def _real(name: str, doc: str, native: Function, build: Function | None = None) -> Function:
    def apply(x: Any, dtype: Any = None) -> Any:
        return _computed(name, "math-domain", native, build or (lambda e: ir.unary(name, e)), x)

    return _named(apply, name, doc)


def _bits(name: str, doc: str, op: str, native: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        return _computed(name, "operand-type", native, lambda x, y: operated(op, x, y), a, b)

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
    """A rounding that leaves infinities and nan unchanged."""
    return lambda x: native(x) if math.isfinite(x) else x


def bitwise_not(a: Any) -> Any:
    """The bits that `a` has not."""
    numbers = _numbers(a)
    if numbers and isinstance(numbers[0], int):
        return ~int(numbers[0])
    return staged(lambda x: ir.unary("~", x), a)


def power(x: Any, y: Any, dtype: Any = None) -> Any:
    """`x` to the power of `y`: products for a small integer known now, else a function that only
    the vector unit has."""
    if _numbers(x, y) is None:
        return power_scalar(x, y)
    return _computed("pow", "math-domain", operator.pow, ir.binary, x, y)


_to_even = _real("round", "The nearest whole number.", _of_finite(round))
_TIES = ("ties-to-even", "ties-away-from-zero")


def round_nearest(x: Any, dtype: Any = None, rounding_mode: str = "ties-to-even") -> Any:
    """The whole number nearest to `x`, of two the even one, or the one farther from 0."""
    mode = dtype if dtype in _TIES else rounding_mode
    if mode not in _TIES:
        message = f"round: rounding_mode is {mode!r}"
        raise Fault("attribute-value", message, f"one of {', '.join(_TIES)}", "rounding_mode")
    if mode == "ties-to-even":
        return _to_even(x)
    return _computed("round", "math-domain", _of_finite(_away), away_from_zero, x)


def _away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


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
FUNCTIONS: dict[str, Function] = {
    **{f.__name__: f for f in _FUNCTIONS},
    "round": round_nearest,
    "pow": power,
}
