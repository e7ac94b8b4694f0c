"""Bring integer expressions into canonical form: sums of constant multiples of atoms.

Enough to see that `k*64 + 64 - k*64` is 64, and no more. `intervals` bounds their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product

from tile_ir.dtypes import INT32, INT64, DType
from tile_ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    ExprError,
    Load,
    Unary,
    Var,
    as_expr,
    binary,
    cast,
    children,
    computed_in,
    rebuild,
    substitute,
    walk_expr,
)
from tile_ir.scalars.arithmetic import wrap

# What variables stand for: lets, and loop variables in terms of other ones.
Values = Mapping[Var, Expr]
NO_VALUES: Values = {}
# So often the definitions of names in bounds are put in, and only into so short ones.
MOST_DEFINITIONS = 3
MOST_TERMS = 100
# What indices are computed in: sums of these are taken not to wrap.
_SUMMED = (INT32, INT64)


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


@lru_cache(maxsize=65536)
def simplify(expr: Expr) -> Expr:
    """An equal expression of the same type in canonical form: integer sums are flattened, like
    terms joined and operands put in one order. Simplifying a canonical form returns it as it is."""
    if isinstance(expr, (Const, Var)):
        return expr
    if expr.dtype not in _SUMMED:
        return _with_simple_parts(expr)  # floats, unsigned and narrow integers are as written
    if isinstance(expr, (Binary, Unary)) and expr.op in ("+", "-", "*"):
        terms, constant = linear_form(expr)
        return _from_linear(terms, constant, expr.dtype)
    found = _with_simple_parts(expr)
    if isinstance(found, Binary) and found.op in ("//", "%") and isinstance(found.right, Const):
        return _divide(found)
    if isinstance(found, Binary) and found.op in ("min", "max"):
        distance = difference(found.left, found.right)
        if isinstance(distance, Const):
            left_wins = (distance.value <= 0) == (found.op == "min")
            return cast(found.left if left_wins else found.right, found.dtype)
    return found


def _with_simple_parts(expr: Expr) -> Expr:
    """The expression with simplified operands. It stays unchanged if its divisor simplifies to
    zero, or if its operator has no meaning for these operands."""
    if isinstance(expr, Binary) and expr.op in ("//", "%") and _is_zero(simplify(expr.right)):
        return expr
    try:
        return rebuild(expr, simplify)
    except ExprError:
        return expr


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


@lru_cache(maxsize=32768)
def difference(left: Expr, right: Expr) -> Expr:
    """`left - right` of the numbers that they are, in canonical form: an unsigned difference would
    wrap below 0."""
    exact = computed_in("-", left.dtype, right.dtype) in _SUMMED
    return simplify(left - right if exact else cast(left, INT64) - cast(right, INT64))


def distance(start: Expr, stop: Expr, values: Values = NO_VALUES) -> Expr:
    """How many elements lie between the bounds of a slice: the shortest expression for it with or
    without the definitions of names in the bounds."""
    found = _distance(start, stop)
    if isinstance(found, Const) or not values:
        return found
    ways = product(_spelled_out(start, values), _spelled_out(stop, values))
    return min((_distance(*way) for way in ways), key=_length)


def _spelled_out(expr: Expr, values: Values) -> list[Expr]:
    """An expression, the same with the definitions of its names put in, those of the names in
    these, and so on."""
    found = [expr]
    while len(found) <= MOST_DEFINITIONS and any(e in values for e in walk_expr(found[-1])):
        found.append(substitute(found[-1], values))
        if _length(found[-1]) > MOST_TERMS:
            break
    return found


def _length(expr: Expr) -> int:
    """The parts of an expression; none of a number."""
    return 0 if isinstance(expr, Const) else sum(1 for _ in walk_expr(expr))


def _distance(start: Expr, stop: Expr) -> Expr:
    """Where the start is a part of the sum that the stop is, the rest of it: bounds do not wrap,
    whatever their type."""
    fits = start.dtype.bits <= stop.dtype.bits
    begun, first = linear_form(cast(start, stop.dtype) if fits else start)
    ended, last = linear_form(stop)
    factors = {atom: ended.get(atom, 0) - begun.get(atom, 0) for atom in {**begun, **ended}}
    rest = {atom: factor for atom, factor in factors.items() if factor}
    if not rest:
        return as_expr(last - first)
    behind = stop.dtype.bits >= 32 and last >= first and all(f > 0 for f in rest.values())
    found = _from_linear(rest, last - first, stop.dtype) if behind else simplify(stop - start)
    while isinstance(found, Cast) and _holds(found.dtype, found.operand.dtype):
        found = found.operand  # the same number
    return found


def linear_form(expr: Expr) -> tuple[dict[Expr, int], int]:
    """The expression as (coefficient per atom, constant): atoms are whatever is not + - *, or is
    computed in another type, where it may have wrapped. They have the type of the whole; among
    int64 variables of int32 may stand as they are."""
    match expr:
        case Const(value=value):
            return ({expr: 1}, 0) if expr.dtype.is_float else ({}, int(value))
        case Var():
            return {expr: 1}, 0
        case Cast(operand=x, bits=False) if _holds(expr.dtype, x.dtype):
            return _operand(x, expr.dtype)
        case Unary(op="-", operand=x):
            return _scaled(_operand(x, expr.dtype), -1)
        case Binary(op="+" | "-" | "*" as op, left=a, right=b):
            left, right = _operand(a, expr.dtype), _operand(b, expr.dtype)
            if op != "*":
                return _sum(left, _scaled(right, 1 if op == "+" else -1))
            if not left[0]:
                return _scaled(right, left[1])
            if not right[0]:
                return _scaled(left, right[1])
            factors = sorted((_sum_of(*form, expr.dtype) for form in (left, right)), key=_spelling)
            return {_computed_in(expr.dtype, "*", *factors): 1}, 0
    atom = simplify(expr)
    # What was no sum may have become one: min(-i, -i) is -i.
    return linear_form(atom) if atom != expr else ({atom: 1}, 0)


def _operand(part: Expr, dtype: DType) -> tuple[dict[Expr, int], int]:
    """The form of an operand of a sum or product in `dtype`: of another type it may have wrapped,
    and is one atom, converted as the whole converts it."""
    if part.dtype is dtype or isinstance(part, Const):
        return linear_form(part)
    if isinstance(part, Var) and part.dtype is INT32 and dtype is INT64:
        return linear_form(part)
    atom = simplify(part)
    return linear_form(atom) if isinstance(atom, Const) else ({cast(atom, dtype): 1}, 0)


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether a type that sums are computed in has every value of another one."""
    if wide not in _SUMMED or narrow.is_float:
        return False
    (low, high), (least, most) = wide.limits(), narrow.limits()
    return low <= least and most <= high


def _scaled(form: tuple[dict[Expr, int], int], factor: int) -> tuple[dict[Expr, int], int]:
    terms, constant = form
    if factor == 0:
        return {}, 0
    return {atom: f * factor for atom, f in terms.items()}, constant * factor


def _sum(
    left: tuple[dict[Expr, int], int], right: tuple[dict[Expr, int], int]
) -> tuple[dict[Expr, int], int]:
    merged = dict(left[0])
    for atom, factor in right[0].items():
        merged[atom] = merged.get(atom, 0) + factor
    return {atom: f for atom, f in merged.items() if f}, left[1] + right[1]


def _from_linear(terms: dict[Expr, int], constant: int, dtype: DType) -> Expr:
    return cast(_sum_of(terms, constant, dtype), dtype)


def _sum_of(terms: dict[Expr, int], constant: int, dtype: DType) -> Expr:
    """The sum, computed in `dtype` in every step, whatever the types of the atoms; one atom alone
    keeps its type."""
    wrapped = {atom: int(wrap(factor, dtype)) for atom, factor in terms.items()}
    factors = {atom: factor for atom, factor in wrapped.items() if factor}
    constant = int(wrap(constant, dtype))
    result: Expr | None = None
    if constant > 0 and factors and all(f < 0 for f in factors.values()):
        result, constant = Const(constant, dtype), 0  # reads `70 - x`, not `x * -1 + 70`
    for atom, factor in sorted(factors.items(), key=_term_order):
        if result is None:
            result = -cast(atom, dtype) if factor == -1 else _multiple(atom, factor, dtype)
        else:
            sign, size = _sign_and_size(factor, dtype)
            result = _computed_in(dtype, sign, result, _multiple(atom, size, dtype))
    if result is None or not constant:
        return Const(constant, dtype) if result is None else result
    sign, size = _sign_and_size(constant, dtype)
    return binary(sign, result, Const(size, dtype))


def _sign_and_size(number: int, dtype: DType) -> tuple[str, int]:
    """How a number is added: only the least of a type has no opposite there."""
    opposite = int(wrap(-number, dtype))
    return ("-", opposite) if number < 0 < opposite else ("+", number)


def _multiple(atom: Expr, factor: int, dtype: DType) -> Expr:
    return atom if factor == 1 else atom * Const(factor, dtype)


def _computed_in(dtype: DType, op: str, left: Expr, right: Expr) -> Expr:
    """`left op right` computed in `dtype`, also where both are of a narrower type."""
    narrow = left.dtype != dtype and right.dtype != dtype
    return binary(op, cast(left, dtype) if narrow else left, right)


def _term_order(term: tuple[Expr, int]) -> tuple[bool, str]:
    return term[1] < 0, _spelling(term[0])


@lru_cache(maxsize=65536)
def _spelling(expr: Expr) -> str:
    """A text that orders atoms the same way in every process."""
    match expr:
        case Var(name=name):
            return name
        case Const(value=value, dtype=dtype):
            return repr(value) if dtype is INT32 else f"{value!r}:{dtype}"
        case Cast(dtype=dtype, bits=bits):
            head = f"{'bits' if bits else 'cast'} {dtype}"
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
    terms, constant = _operand(expr.left, expr.dtype)
    if not terms:
        return binary(expr.op, Const(constant, expr.dtype), expr.right)
    whole = {a: f // divisor for a, f in terms.items() if f % divisor == 0}
    rest = {a: f for a, f in terms.items() if f % divisor}
    remainder = _sum_of(rest, constant % divisor, expr.dtype)
    part = binary(expr.op, remainder, Const(divisor, expr.dtype))
    if expr.op == "%" or not (whole or constant // divisor):
        return part
    # Beside others the quotient is one term of a sum, and may be one of them.
    quotient = ({part: 1}, 0) if rest else ({}, 0)
    return _from_linear(*_sum((whole, constant // divisor), quotient), expr.dtype)
