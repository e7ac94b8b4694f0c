"""Integer expressions in canonical form: sums of constant multiples of atoms.

Enough to see that `k*64 + 64 - k*64` is 64, and no more. What values they take is in `intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tile_ir.dtypes import INT32, INT64
from tile_ir.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Unary,
    Var,
    binary,
    cast,
    children,
    rebuild,
)

# What variables stand for: lets, and loop variables in terms of other ones.
Values = Mapping[Var, Expr]
NO_VALUES: Values = {}


def resolved(expr: Expr, values: Values) -> Expr:
    """The expression with definitions put in, definitions of definitions included."""

    def put_in(part: Expr) -> Expr:
        if isinstance(part, Const):
            return part
        if isinstance(part, Var):
            value = values.get(part)
            return part if value is None else put_in(value)
        return rebuild(part, put_in)

    return expr if not values or isinstance(expr, Const) else put_in(expr)


def simplify(expr: Expr) -> Expr:
    """An equal expression in canonical form; integer sums are flattened and like terms joined."""
    return expr if isinstance(expr, (Const, Var)) else _simplified(expr)


@lru_cache(maxsize=65536)
def _simplified(expr: Expr) -> Expr:
    if expr.dtype not in (INT32, INT64):
        return rebuild(expr, simplify)  # floats, unsigned and narrow integers are as written
    if isinstance(expr, (Binary, Unary)) and expr.op in ("+", "-", "*"):
        terms, constant = linear_form(expr)
        return _from_linear(terms, constant, expr)
    expr = rebuild(expr, simplify)
    if isinstance(expr, Binary) and expr.op in ("//", "%") and isinstance(expr.right, Const):
        return _divide(expr)
    if isinstance(expr, Binary) and expr.op in ("min", "max"):
        difference = simplify(expr.left - expr.right)
        if isinstance(difference, Const) and difference.dtype is expr.dtype:
            left_wins = (difference.value <= 0) == (expr.op == "min")
            return expr.left if left_wins else expr.right
    return expr


def linear_form(expr: Expr) -> tuple[dict[Expr, int], int]:
    """The expression as (coefficient per atom, constant): atoms are whatever is not + - *, or is
    computed in another type, where it may have wrapped. They have the type of the whole; among
    int64 variables of int32 may stand as they are."""
    match expr:
        case Const(value=value):
            return {}, int(value)
        case Var():
            return {expr: 1}, 0
        case Unary(op="-", operand=x):
            return _scaled(linear_form(x), -1)
        case Binary(op="+" | "-" as op, left=a, right=b):
            terms, constant = _part_form(a, expr)
            other, more = _scaled(_part_form(b, expr), 1 if op == "+" else -1)
            merged = dict(terms)
            for atom, factor in other.items():
                merged[atom] = merged.get(atom, 0) + factor
            return {atom: f for atom, f in merged.items() if f}, constant + more
        case Binary(op="*", left=a, right=b):
            left, right = _part_form(a, expr), _part_form(b, expr)
            if not left[0]:
                return _scaled(right, left[1])
            if not right[0]:
                return _scaled(left, right[1])
            return {binary("*", _rebuilt(left, a), _rebuilt(right, b)): 1}, 0
    atom = simplify(expr)
    # What was no sum may have become one: min(-i, -i) is -i.
    return linear_form(atom) if atom != expr else ({atom: 1}, 0)


def _part_form(part: Expr, whole: Expr) -> tuple[dict[Expr, int], int]:
    """The form of an operand: of another type it may have wrapped, and is one atom, converted as
    the whole converts it."""
    if part.dtype is whole.dtype or isinstance(part, Const):
        return linear_form(part)
    if isinstance(part, Var) and part.dtype is INT32 and whole.dtype is INT64:
        return linear_form(part)
    return {cast(simplify(part), whole.dtype): 1}, 0


def _scaled(form: tuple[dict[Expr, int], int], factor: int) -> tuple[dict[Expr, int], int]:
    terms, constant = form
    if factor == 0:
        return {}, 0
    return {atom: f * factor for atom, f in terms.items()}, constant * factor


def _rebuilt(form: tuple[dict[Expr, int], int], like: Expr) -> Expr:
    return _from_linear(form[0], form[1], like)


def _from_linear(terms: dict[Expr, int], constant: int, like: Expr) -> Expr:
    result: Expr | None = None
    if constant > 0 and terms and all(f < 0 for f in terms.values()):
        result, constant = Const(constant, like.dtype), 0  # reads `70 - x`, not `x * -1 + 70`
    for atom, factor in sorted(terms.items(), key=_term_order):
        if result is None:
            result = -atom if factor == -1 else atom * factor
        elif factor < 0:
            result = result - atom * -factor
        else:
            result = result + atom * factor
    if result is None:
        return Const(constant, like.dtype)
    if constant == 0:
        return result
    if constant < 0:
        return result - Const(-constant, like.dtype)
    return result + Const(constant, like.dtype)


def _term_order(term: tuple[Expr, int]) -> tuple[bool, str]:
    return term[1] < 0, _spelling(term[0])


@lru_cache(maxsize=65536)
def _spelling(expr: Expr) -> str:
    """A text that orders atoms the same way in every process."""
    match expr:
        case Var(name=name):
            return name
        case Const(value=value):
            return repr(value)
        case Load(buffer=buffer):
            head = buffer.name
        case Binary(op=op) | Unary(op=op):
            head = op
        case _:
            head = type(expr).__name__
    return f"{head}({','.join(map(_spelling, children(expr)))})"


def _divide(expr: Binary) -> Expr:
    """(a*d + b) // d = a + b//d, and (a*d + b) % d = b % d, with floor semantics."""
    divisor = expr.right.value if isinstance(expr.right, Const) else 0
    if not isinstance(divisor, int) or divisor <= 0:
        return expr
    terms, constant = linear_form(expr.left)
    if not terms:
        return binary(expr.op, Const(constant, expr.dtype), expr.right)
    whole = {a: f // divisor for a, f in terms.items() if f % divisor == 0}
    rest = {a: f for a, f in terms.items() if f % divisor}
    if not whole and 0 <= constant < divisor:
        return expr
    remainder = _from_linear(rest, constant % divisor, expr.left)
    if expr.op == "%":
        return binary("%", remainder, divisor)
    return _from_linear(whole, constant // divisor, expr.left) + binary("//", remainder, divisor)


__all__ = ["NO_VALUES", "Values", "linear_form", "resolved", "simplify"]
