"""Canonical form and intervals of integer expressions.

`simplify` collects an integer expression into a sum of constant multiples of atoms, enough to see
that `k*64 + 64 - k*64` is 64. `interval` propagates ranges of variables. Neither proves more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tile_ir.dtypes import BOOL, INT32, INT64, DType
from tile_ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary,
    children,
    promote,
    rebuild,
)

INF = float("inf")


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed range of an integer; infinite ends where nothing is known."""

    low: float
    high: float

    @staticmethod
    def exactly(value: float) -> Interval:
        return Interval(value, value)


EVERYTHING = Interval(-INF, INF)


@lru_cache(maxsize=65536)
def simplify(expr: Expr) -> Expr:
    """An equal expression in canonical form; integer sums are flattened and like terms joined."""
    if expr.dtype.is_float or isinstance(expr, (Const, Var)):
        return expr if isinstance(expr, (Const, Var)) else rebuild(expr, simplify)
    if expr.dtype not in (INT32, INT64):
        return rebuild(expr, simplify)  # unsigned and narrow integers are computed as written
    if isinstance(expr, (Binary, Unary)) and expr.op in ("+", "-", "*"):
        terms, constant = linear_form(expr)
        return _from_linear(terms, constant, expr)
    expr = rebuild(expr, simplify)
    if isinstance(expr, Binary) and expr.op in ("//", "%") and isinstance(expr.right, Const):
        return _divide(expr)
    if isinstance(expr, Binary) and expr.op in ("min", "max"):
        difference = simplify(expr.left - expr.right)
        if isinstance(difference, Const):
            left_wins = (difference.value <= 0) == (expr.op == "min")
            return expr.left if left_wins else expr.right
    return expr


def linear_form(expr: Expr) -> tuple[dict[Expr, int], int]:
    """The expression as (coefficient per atom, constant): atoms are whatever is not + - *, or is
    computed in another type, where it may have wrapped."""
    match expr:
        case Const(value=value):
            return {}, int(value)
        case Unary(op="-", operand=x):
            return _scaled(linear_form(x), -1)
        case Binary(left=a, right=b) if not (_same_type(a, expr) and _same_type(b, expr)):
            return {rebuild(expr, simplify): 1}, 0
        case Binary(op="+" | "-" as op, left=a, right=b):
            terms, constant = linear_form(a)
            other, more = _scaled(linear_form(b), 1 if op == "+" else -1)
            merged = dict(terms)
            for atom, factor in other.items():
                merged[atom] = merged.get(atom, 0) + factor
            return {atom: f for atom, f in merged.items() if f}, constant + more
        case Binary(op="*", left=a, right=b):
            left, right = linear_form(a), linear_form(b)
            if not left[0]:
                return _scaled(right, left[1])
            if not right[0]:
                return _scaled(left, right[1])
            return {binary("*", _rebuilt(left, a), _rebuilt(right, b)): 1}, 0
    atom = simplify(expr)
    # What was no sum may have become one: min(-i, -i) is -i.
    return linear_form(atom) if atom != expr else ({atom: 1}, 0)


def _same_type(part: Expr, whole: Expr) -> bool:
    return part.dtype == whole.dtype or isinstance(part, (Const, Var))


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
    whole = {a: f // divisor for a, f in terms.items() if f % divisor == 0}
    rest = {a: f for a, f in terms.items() if f % divisor}
    if not whole and 0 <= constant < divisor:
        return expr
    remainder = _from_linear(rest, constant % divisor, expr.left)
    if expr.op == "%":
        return binary("%", remainder, divisor)
    return _from_linear(whole, constant // divisor, expr.left) + binary("//", remainder, divisor)


def interval(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval:
    """The range of an integer expression, given the ranges of its variables."""
    found = _interval(expr, ranges)
    if isinstance(expr, Var) or expr.dtype in (INT32, INT64, BOOL):
        return found
    return _wrapped(found, expr.dtype)


def _interval(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval:
    match expr:
        case Const(value=value):
            return Interval.exactly(value)
        case Var():
            return ranges.get(expr, EVERYTHING)
        case Binary(op=op, left=a, right=b):
            return _combine(op, interval(a, ranges), interval(b, ranges))
        case Unary(op="-", operand=a):
            r = interval(a, ranges)
            return Interval(-r.high, -r.low)
        case Select(then=a, orelse=b):
            x, y = interval(a, ranges), interval(b, ranges)
            return Interval(min(x.low, y.low), max(x.high, y.high))
        case Cast(operand=a, bits=False) if expr.dtype.is_integer and a.dtype.is_integer:
            r = interval(a, ranges)
            low, high = expr.dtype.limits()
            return r if low <= r.low and r.high <= high else Interval(low, high)
        case Load() if expr.dtype.is_integer:
            low, high = expr.dtype.limits()
            return Interval(low, high)
    return Interval(0, 1) if expr.dtype.name == "bool" else EVERYTHING


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _combine(op: str, a: Interval, b: Interval) -> Interval:
    match op:
        case "+":
            return Interval(a.low + b.low, a.high + b.high)
        case "-":
            return Interval(a.low - b.high, a.high - b.low)
        case "*":
            corners = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return Interval(min(corners), max(corners))
        case "min":
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case "max":
            return Interval(max(a.low, b.low), max(a.high, b.high))
        case "//" if b.low == b.high and 0 < b.low < INF:
            return Interval(_floordiv(a.low, b.low), _floordiv(a.high, b.low))
        case "%" if b.low == b.high and 0 < b.low < INF:
            if a.low >= 0 and a.high < b.low:
                return a
            return Interval(0, b.low - 1)
        case "%" if b.low > 0:
            return Interval(0, b.high - 1)
        case "//" if b.low > 0 and a.low >= 0:
            return Interval(0, a.high)
        case "&" if a.low >= 0 and b.low >= 0:
            return Interval(0, min(a.high, b.high))
        case ">>" if a.low >= 0 and b.low >= 0:
            return Interval(0, a.high)
        case "<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or":
            return Interval(0, 1)
    return EVERYTHING


def _wrapped(found: Interval, dtype: DType) -> Interval:
    """The range of a result that wraps in its type; int32 and int64 are taken not to."""
    if not dtype.is_integer:
        return found
    low, high = dtype.limits()
    return found if low <= found.low and found.high <= high else Interval(low, high)


def _floordiv(a: float, b: float) -> float:
    return a if a in (INF, -INF) else a // b


def always_at_most(small: Expr, large: Expr, ranges: Mapping[Var, Interval]) -> bool:
    """Whether `small <= large` holds for every value in the ranges, as far as can be seen."""
    return interval(simplify(large - small), ranges).low >= 0


def narrow(expr: Expr, ranges: Mapping[Var, Interval]) -> Expr:
    """The expression without the minima, maxima and comparisons that the ranges decide."""
    expr = rebuild(simplify(expr), lambda child: narrow(child, ranges))
    if not isinstance(expr, Binary):
        return expr
    a, b = expr.left, expr.right
    if promote(a.dtype, b.dtype) not in (INT32, INT64):
        return expr  # unsigned and narrow operands may wrap when they are compared
    match expr.op:
        case "min":
            if always_at_most(a, b, ranges):
                return a
            return b if always_at_most(b, a, ranges) else expr
        case "max":
            if always_at_most(a, b, ranges):
                return b
            return a if always_at_most(b, a, ranges) else expr
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            decided = decide(expr.op, interval(simplify(a - b), ranges))
            return expr if decided is None else Const(decided, BOOL)
    return expr


def decide(op: str, difference: Interval) -> bool | None:
    """Whether `difference op 0` is certain, one way or the other."""
    low, high = difference.low, difference.high
    certain = {
        "<": (high < 0, low >= 0),
        "<=": (high <= 0, low > 0),
        ">": (low > 0, high <= 0),
        ">=": (low >= 0, high < 0),
        "==": (low == high == 0, low > 0 or high < 0),
        "!=": (low > 0 or high < 0, low == high == 0),
    }
    yes, no = certain[op]
    return True if yes else False if no else None
