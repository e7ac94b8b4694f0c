"""Loop variables as values: vectors that count up, and the integer arithmetic on them that the
vector unit has no instruction for."""

from __future__ import annotations

from tile_ir import (
    FLOAT32,
    INT32,
    Binary,
    Const,
    DType,
    Expr,
    Region,
    cast,
    constant_value,
    simplify,
    substitute,
)
from tile_ir.analysis import Interval, interval
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.vector_steps import VectorSteps

# Integers up to this are floats, and so are the halves between those up to a quarter of it.
EXACT_FLOAT = 1 << 24


def is_progression(e: Expr, domain: Domain) -> bool:
    """Whether the value changes by the same amount from element to element of a line."""
    return e.dtype is INT32 and len(domain.vars) == 1 and step_of(e, *domain.vars) != 0


def progression(
    s: VectorSteps, e: Expr, dtype: DType, domain: Domain, into: Region | None
) -> Region:
    """The values of such an expression along the line."""
    (var,), (start,) = domain.vars, domain.starts
    step = step_of(e, var)
    first = cast(simplify(substitute(e, {var: start})), dtype)
    out = into if into is not None else s.tile(dtype, domain)
    if step == 1:
        s.emit("createvecindex", out, first)
    else:
        s.emit("arith_progression", out, first, cast(Const(step), dtype), None)
    return out


def holds(dtype: DType, e: Expr, s: VectorSteps) -> bool:
    """Whether a float type surely holds every value of an integer expression."""
    most = {FLOAT32: EXACT_FLOAT}.get(dtype, 0)
    return _within(interval(e, s.known), most)


def _within(found: Interval, most: int) -> bool:
    return -most <= found.low and found.high <= most


def divided(s: VectorSteps, e: Binary, domain: Domain, into: Region | None) -> Region:
    """`//` and `%` of integers by a constant. A power of two is a shift, others are the floor of
    (x + 1/2) / d in float, whose error is below 1 / (2 d) for |x| up to 2 ** 21. The quotient of a
    larger x leaves a rest of at most 3 d + 512, whose quotient is added to it."""
    divisor = constant_value(e.right)
    if divisor is None or divisor <= 0 or e.dtype is not INT32:
        raise Unsuitable(f"there is no vector operation for `{e.op}`")
    if e.op == "%":
        whole_part = Binary("//", e.left, e.right, INT32) * divisor
        return s.apply("sub", e.left, whole_part, INT32, domain, into)
    if divisor & (divisor - 1) == 0:
        shift = Const(divisor.bit_length() - 1)
        return s.apply("bitwise_rshift", e.left, shift, INT32, domain, into)
    if _within(interval(e.left, s.known), EXACT_FLOAT // 8):
        return _floor(s, e.left, divisor, domain, into)
    if divisor > EXACT_FLOAT // 64:
        raise Unsuitable(f"the left side of `{e.op}` may be beyond 2 ** 21")
    whole = s.typed(e.left, INT32, domain, None)
    assert isinstance(whole, Region), "it follows a variable"
    quotient = _quotient(s, whole, divisor, domain)
    rest = s.tile(INT32, domain)
    s.emit("mul", rest, quotient, Const(divisor))
    s.emit("sub", rest, whole, rest)
    s.release(whole)
    more = _quotient(s, rest, divisor, domain)
    s.release(rest)
    out = into if into is not None else s.tile(INT32, domain)
    s.emit("add", out, quotient, more)
    s.release(quotient)
    s.release(more)
    return out


def _floor(s: VectorSteps, x: Expr, divisor: int, domain: Domain, into: Region | None) -> Region:
    """The quotients of the values of an expression, rounded down."""
    middle = Binary("+", cast(x, FLOAT32), Const(0.5, FLOAT32), FLOAT32)
    scaled = s.apply("mul", middle, Const(1.0 / divisor, FLOAT32), FLOAT32, domain, None)
    return _rounded_down(s, scaled, domain, into)


def _quotient(s: VectorSteps, x: Region, divisor: int, domain: Domain) -> Region:
    """The quotients of the values of a tile, rounded down."""
    wide = s.tile(FLOAT32, domain)
    s.emit("cast", wide, x, None, attrs=("cast_rint",))
    s.emit("add", wide, wide, Const(0.5, FLOAT32))
    s.emit("mul", wide, wide, Const(1.0 / divisor, FLOAT32))
    return _rounded_down(s, wide, domain, None)


def _rounded_down(s: VectorSteps, x: Region, domain: Domain, into: Region | None) -> Region:
    out = into if into is not None else s.tile(INT32, domain)
    s.emit("cast", out, x, None, attrs=("cast_floor",))
    s.release(x)
    return out
