"""Functions of elements that the chip has no instruction for, as formulas in float32.

Each states how far it may be off: `e` is the error relative to the result, where exp, log and sqrt
are those of the chip. Elements of other types are computed in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, as_float, python_number, staged
from tile_ir import FLOAT32, INT32, Const, Expr
from tile_ir import expr as ir

_HALF_PI, _QUARTER_PI = math.pi / 2, math.pi / 4
_MOST_BITS = 32


def _abs(x: Expr) -> Expr:
    return ir.unary("abs", x)


def _exp(x: Expr) -> Expr:
    return ir.unary("exp", x)


def _log(x: Expr) -> Expr:
    return ir.unary("log", x)


def _sqrt(x: Expr) -> Expr:
    return ir.unary("sqrt", x)


def _trunc(x: Expr) -> Expr:
    return ir.unary("trunc", x)


def _is_negative(x: Expr) -> Expr:
    """Whether the sign of a number is set: the sign of a zero shows in a quotient."""
    return ir.select(ir.equal(x, 0.0), 1.0 / x, x) < 0.0


def _polynomial(x: Expr, *factors: float) -> Expr:
    """The polynomial with these factors, that of the highest power first."""
    total: Expr = Const(factors[0], FLOAT32)
    for factor in factors[1:]:
        total = total * x + factor
    return total


def _with_sign(size: Expr, sign: Expr) -> Expr:
    return ir.select(_is_negative(sign), -_abs(size), _abs(size))


def _exp10(x: Expr) -> Expr:
    """10 ** x: whole powers have exact exponents, and the rest is small; e < 1e-6."""
    near = ir.minimum(ir.maximum(x, -50.0), 50.0)
    whole, high = _trunc(near), 2.302734375
    return _exp(whole * high) * _exp(
        (near - whole) * math.log(10.0) + whole * (math.log(10.0) - high)
    )


def _log1p(x: Expr) -> Expr:
    """log(1 + x), corrected for the rounding of 1 + x; e < 5e-7."""
    u = x + 1.0
    put_back = _log(u) * (x / (u - 1.0))
    return ir.select(ir.equal(u, 1.0), x, ir.select(u > 1e7, _log(u), put_back))


def _tan(x: Expr) -> Expr:
    """sin / cos, each with its own error: e < 1e-6 where cos is not near to 0."""
    return ir.unary("sin", x) / ir.unary("cos", x)


def _sinh(x: Expr) -> Expr:
    """A series near 0, else exponentials of the half, which do not overflow early; e < 1e-6."""
    square = x * x
    series = x * _polynomial(square, 1 / 362880, 1 / 5040, 1 / 120, 1 / 6, 1.0)
    half = _exp(_abs(x) * 0.5)
    size = half * 0.5 * half - 0.5 / half / half
    return ir.select(_abs(x) < 1.0, series, _with_sign(size, x))


def _cosh(x: Expr) -> Expr:
    """Exponentials of the half; e < 1e-6."""
    half = _exp(_abs(x) * 0.5)
    return half * 0.5 * half + 0.5 / half / half


def _asinh(x: Expr) -> Expr:
    """log1p of the size; e < 1e-6."""
    a = _abs(x)
    near = _log1p(a + a * a / (_sqrt(a * a + 1.0) + 1.0))
    return _with_sign(ir.select(a > 1e4, _log(a) + math.log(2.0), near), x)


def _acosh(x: Expr) -> Expr:
    """log1p of the part above 1; e < 1e-6."""
    t = x - 1.0
    near = _log1p(t + _sqrt(t * 2.0 + t * t))
    found = ir.select(x > 1e4, _log(x) + math.log(2.0), near)
    return ir.select(x < 1.0, Const(math.nan, FLOAT32), found)


def _atanh(x: Expr) -> Expr:
    """Half of log1p of a quotient; e < 1e-6."""
    a = _abs(x)
    return _with_sign(_log1p(a * 2.0 / (1.0 - a)) * 0.5, x)


def _atan(x: Expr) -> Expr:
    """A polynomial after the angle is brought below an eighth of the circle; e < 5e-7."""
    a = _abs(x)
    far, middle = a > 2.414213562373095, a > 0.4142135623730950
    t = ir.select(far, -1.0 / a, ir.select(middle, (a - 1.0) / (a + 1.0), a))
    start = ir.select(
        far, Const(_HALF_PI, FLOAT32), ir.select(middle, Const(_QUARTER_PI, FLOAT32), 0.0)
    )
    z = t * t
    odd = _polynomial(z, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
    return _with_sign(start + (odd * z * t + t), x)


def _asin_parts(a: Expr) -> Expr:
    """asin of a size up to a half; of a larger one, half of the distance to a quarter circle."""
    z = ir.select(a > 0.5, (1.0 - a) * 0.5, a * a)
    s = ir.select(a > 0.5, _sqrt(z), a)
    odd = _polynomial(
        z, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1
    )
    return odd * z * s + s


def _asin(x: Expr) -> Expr:
    """A polynomial, behind a root near 1; e < 5e-7."""
    a = _abs(x)
    part = _asin_parts(a)
    return _with_sign(ir.select(a > 0.5, _HALF_PI - part * 2.0, part), x)


def _acos(x: Expr) -> Expr:
    """The same polynomial; e < 5e-7 where acos is not near to 0."""
    a = _abs(x)
    part = _asin_parts(a)
    near = ir.select(x < 0.0, math.pi - part * 2.0, part * 2.0)
    return ir.select(a > 0.5, near, _HALF_PI - _with_sign(part, x))


def _atan2(y: Expr, x: Expr) -> Expr:
    """atan of the smaller by the larger side, in its quarter; e < 1e-6."""
    a, b = _abs(y), _abs(x)
    small, large = ir.minimum(a, b), ir.maximum(a, b)
    ratio = ir.select(ir.equal(small, math.inf), Const(1.0, FLOAT32), small / large)
    angle = _atan(ir.select(ir.equal(large, 0.0), 0.0, ratio))
    angle = ir.select(a > b, _HALF_PI - angle, angle)
    return _with_sign(ir.select(_is_negative(x), math.pi - angle, angle), y)


def _hypot(x: Expr, y: Expr) -> Expr:
    """The larger side times a root, which does not overflow early; e < 5e-7."""
    a, b = _abs(x), _abs(y)
    large = ir.maximum(a, b)
    ratio = ir.minimum(a, b) / large
    found = ir.select(ir.equal(large, 0.0), 0.0, large * _sqrt(ratio * ratio + 1.0))
    infinite = ir.binary("or", ir.equal(a, math.inf), ir.equal(b, math.inf))
    return ir.select(infinite, Const(math.inf, FLOAT32), found)


def _fmod(x: Expr, y: Expr) -> Expr:
    """The exact remainder of a division; nan where the quotient has more than 24 bits."""
    a, b = _abs(x), _abs(y)
    # Both smaller by a power of two, so that no product of the larger ones overflows.
    scale = ir.select(b > 1e30, Const(2.0**-20, FLOAT32), 1.0)
    left = _less(_less(a * scale, b * scale * 4096.0), b * scale) / scale
    left = ir.select(a / b < 2.0**24, left, Const(math.nan, FLOAT32))
    left = ir.select(ir.binary("and", a < b, a < math.inf), a, left)
    return ir.select(ir.not_equal(y, y), y, _with_sign(left, x))


def _less(a: Expr, b: Expr) -> Expr:
    """`a` without whole multiples of `b`, of which there are less than 4096: halves of `b` have few
    enough bits that their products are exact."""
    count = _trunc(a / b)
    moved = b * 4097.0
    high = moved - (moved - b)
    left = a - count * high - count * (b - high)
    left = ir.select(left < 0.0, left + b, left)
    return ir.select(left >= b, left - b, left)


def _ldexp(x: Expr, n: Expr) -> Expr:
    """x * 2 ** n, a power for each bit of n, of which none overflows by itself; exact."""
    power = ir.minimum(ir.maximum(ir.cast(n, INT32), -300), 300)
    count = ir.maximum(power, -power)
    for bit, steps in ((64, 4), (32, 1), (16, 1), (8, 1), (4, 1), (2, 1), (1, 1)):
        for _ in range(steps):
            more = count >= bit
            factor = ir.select(power < 0, Const(2.0**-bit, FLOAT32), 2.0**bit)
            x = ir.select(more, x * factor, x)
            count = ir.select(more, count - bit, count)
    return x


def _away(x: Expr) -> Expr:
    """The nearest whole number, of two the one farther from 0; exact."""
    a = _abs(x)
    whole = _trunc(a)
    return _with_sign(ir.select(a - whole >= 0.5, whole + 1.0, whole), x)


def _in_float32(build: Callable[..., Expr], *operands: Expr) -> Expr:
    """A formula of operands, as the type of the first that is a float."""
    first = as_float(operands[0])
    given = (ir.cast(e, FLOAT32) for e in operands)
    return ir.cast(build(*given), first.dtype)


def _formula(name: str, build: Callable[..., Expr], native: Callable[..., float]) -> Any:
    """The function of a formula: computed at once where its arguments are numbers."""

    def apply(*values: Any, dtype: Any = None) -> Any:
        numbers = [None if isinstance(v, Scalar) else python_number(v) for v in values]
        if None in numbers:
            return staged(lambda *operands: _in_float32(build, *operands), *values)
        try:
            return native(*numbers)
        except OverflowError:
            return math.inf
        except (TypeError, ValueError, ArithmeticError) as error:
            shown = ", ".join(map(repr, numbers))
            hint = "pass a number for which the function is defined"
            raise Fault("math-domain", f"{name}({shown}): {error}", hint) from None

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = build.__doc__
    return apply


def ldexp(x: Any, n: Any) -> Any:
    """x * 2 ** n of an integer n."""
    if python_number(x) is not None and python_number(n) is not None:
        return math.ldexp(python_number(x) or 0.0, int(python_number(n) or 0))
    return staged(
        lambda e, power: ir.cast(_ldexp(ir.cast(e, FLOAT32), power), as_float(e).dtype), x, n
    )


def popcount(x: Any) -> Any:
    """How many bits of an integer are set."""
    return _counted("popcount", x, lambda e, width: _set_bits(e))


def clz(x: Any) -> Any:
    """How many bits of an integer stand above the highest one that is set."""

    def zeros(e: Expr, width: int) -> Expr:
        for distance in (1, 2, 4, 8, 16):
            e = e | e >> distance
        return width - _set_bits(e)

    return _counted("clz", x, zeros)


def __ffs(x: Any) -> Any:
    """The place of the lowest bit of an integer that is set, counted from 1; 0 where none is."""

    def place(e: Expr, width: int) -> Expr:
        lowest = e & -e
        return ir.select(ir.equal(e, 0), Const(0, INT32), _set_bits(lowest - 1) + 1)

    return _counted("__ffs", x, place)


def _counted(name: str, x: Any, build: Callable[[Expr, int], Expr]) -> Any:
    def count(e: Expr) -> Expr:
        width = e.dtype.bits
        if not e.dtype.is_integer or width > _MOST_BITS:
            hint = 'write T.cast(x, "int32")'
            raise Fault("operand-type", f"{name} of {e.dtype}: it counts bits of 32", hint)
        narrow = ir.cast(e, INT32)
        if width < _MOST_BITS:
            narrow = narrow & (1 << width) - 1
        return build(narrow, width)

    return staged(count, x if isinstance(x, Scalar) else Scalar(Const(int(x), INT32)))


def _set_bits(e: Expr) -> Expr:
    """Sums of neighbouring bits, then of pairs, and so on."""
    pairs = e - (e >> 1 & 0x55555555)
    fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
    eights = fours + (fours >> 4) & 0x0F0F0F0F
    halves = eights + (eights >> 8)
    return halves + (halves >> 16) & 0x3F


def away_from_zero(e: Expr) -> Expr:
    """The nearest whole number of an expression, of two the one farther from 0."""
    return _in_float32(_away, e) if e.dtype.is_float else e


_FORMULAS = (
    _formula("exp10", _exp10, lambda x: 10.0**x),
    _formula("log1p", _log1p, math.log1p),
    _formula("tan", _tan, math.tan),
    _formula("sinh", _sinh, math.sinh),
    _formula("cosh", _cosh, math.cosh),
    _formula("asin", _asin, math.asin),
    _formula("acos", _acos, math.acos),
    _formula("atan", _atan, math.atan),
    _formula("atan2", _atan2, math.atan2),
    _formula("asinh", _asinh, math.asinh),
    _formula("acosh", _acosh, math.acosh),
    _formula("atanh", _atanh, math.atanh),
    _formula("hypot", _hypot, math.hypot),
    _formula("fmod", _fmod, math.fmod),
    _formula("copysign", _with_sign, math.copysign),
)
FUNCTIONS: dict[str, Any] = {
    **{f.__name__: f for f in (*_FORMULAS, ldexp, popcount, clz, __ffs)},
}
