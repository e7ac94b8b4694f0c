"""Sums of one and a hyperbolic tangent, and products with a logistic function, as one quotient of
an exponential: fewer instructions, and one rounding less.

`1 + tanh(z)` is `2 / (1 + e ** -2z)`. The sum would lose what the tangent has below -1 + 2 ** -24;
the quotient has the relative precision of its parts. A factor becomes the numerator.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import field

from tile_ir import (
    FLOAT16,
    FLOAT32,
    Binary,
    Const,
    Expr,
    Load,
    Unary,
    Var,
    binary,
    is_constant,
    rebuild,
    unary,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.shared_values import references


def as_quotients(e: Expr) -> Expr:
    """The expression with such sums and products rewritten, where no other place needs them too."""
    uses = references(e)
    if not any(isinstance(part, Unary) and part.op in ("tanh", "exp") for part in uses):
        return e
    return _Quotients(uses).rewritten(e)


@dataclass(eq=False)
class _Quotients:
    uses: Counter[Expr]
    done: dict[Expr, Expr] = field(default_factory=dict)

    def rewritten(self, e: Expr) -> Expr:
        if isinstance(e, (Const, Var, Load)):
            return e
        found = self.done.get(e)
        if found is None:
            found = self._quotient(e)
            self.done[e] = found = rebuild(e, self.rewritten) if found is None else found
        return found

    def _quotient(self, e: Expr) -> Expr | None:
        match e:
            case Binary(op="+" | "-", dtype=dtype) if dtype is FLOAT32:
                return self.sum_with_tangent(e)
            case Binary(op="*", dtype=dtype) if dtype in (FLOAT16, FLOAT32):
                return self.product_with_quotient(e)
            case Unary(op="exp", operand=Unary(op="-", operand=x)) if self.uses[x] == 1:
                factor, rest = _factor(self.rewritten(x))
                if factor != 1.0:
                    return unary("exp", _times(rest, -factor))
        return None

    def sum_with_tangent(self, e: Binary) -> Expr | None:
        """`1 + tanh(z)`, `tanh(z) + 1` and `1 - tanh(z)` as a quotient."""
        one, other = e.left, e.right
        if e.op == "+" and is_constant(other, 1.0):
            one, other = other, one
        if not is_constant(one, 1.0) or self.uses[other] != 1:
            return None
        if not isinstance(other, Unary) or other.op != "tanh":
            return None
        factor, z = _factor(self.rewritten(other.operand))
        power = unary("exp", _times(z, -2.0 * factor if e.op == "+" else 2.0 * factor))
        return Const(2.0, e.dtype) / (power + 1.0)

    def product_with_quotient(self, e: Binary) -> Expr | None:
        """A factor and a logistic function as one quotient, where no product can overflow by it."""
        for factor, quotient in ((e.left, e.right), (e.right, e.left)):
            found = self.rewritten(quotient)
            if self.uses[quotient] != 1 or not isinstance(found, Binary):
                continue
            above = _above_logistic(found)
            if above is None:
                continue
            scale, rest = _factor(self.rewritten(factor))
            if abs(scale * above) <= max(1.0, abs(scale)):
                return binary("/", _times(rest, scale * above), found.right)
        return None


def _above_logistic(e: Binary) -> float | None:
    """The numerator of a power of two over one and an exponential; None for what is another."""
    match e:
        case Binary(op="/", left=Const(value=float() as above), right=Binary(op="+") as below):
            first, last = below.left, below.right
            power = last if is_constant(first, 1.0) else first
            other = first if power is last else last
            logistic = is_constant(other, 1.0) and isinstance(power, Unary) and power.op == "exp"
            return above if logistic and math.frexp(above)[0] == 0.5 else None
    return None


def _factor(e: Expr) -> tuple[float, Expr]:
    """A constant factor, and the rest."""
    match e:
        case Const(value=float() as value, dtype=dtype):
            return value, Const(1.0, dtype)
        case Binary(op="*", left=Const(value=float() as value), right=rest):
            return value, rest
        case Binary(op="*", left=rest, right=Const(value=float() as value)):
            return value, rest
    return 1.0, e


def _times(e: Expr, factor: float) -> Expr:
    """A product with a constant, which one other is part of already: scaled by a power of two."""
    if isinstance(e, Const):
        return Const(float(e.value) * factor, e.dtype)
    return e if factor == 1.0 else binary("*", e, Const(factor, e.dtype))
