"""Strided intervals of integer expressions and of the variables visible at a statement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from tile_ir.dtypes import BOOL, INT32, INT64, DType
from tile_ir.expr import (
    COMPARISONS,
    LOGICAL,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    cast,
    computed_in,
    rebuild,
    walk_expr,
)
from tile_ir.nodes import Body, For, Func, If, Let, Stmt
from tile_ir.ranks import RANK, RANKS, STEP
from tile_ir.scalars.affine import difference, simplify
from tile_ir.traversal import bodies, compounds

INF = float("inf")


class Interval(NamedTuple):
    """Closed range of an integer; infinite ends where nothing is known. All values are multiples of
    `stride`; where that is 0, of everything: the integer is 0."""

    low: float
    high: float
    stride: int = 1

    @staticmethod
    @lru_cache(maxsize=4096, typed=True)
    def exactly(value: float) -> Interval:
        return Interval(value, value, abs(value) if isinstance(value, int) else 1)

    @property
    def value(self) -> float | None:
        """The only one there is."""
        return self.low if self.low == self.high else None


EVERYTHING = Interval(-INF, INF)
_TRUTH = Interval(0, 1)
# What is compared as it is, as unsigned and narrow integers may wrap; and what has a truth value of
# its own.
_EXACT = ((INT32, INT64, BOOL), (BOOL,))
Ranges = dict[Var, Interval]


def interval(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval:
    """The range of an integer expression, given the ranges of its variables."""
    if isinstance(expr, Var):
        return ranges.get(expr, EVERYTHING)
    dtype = expr.dtype
    if dtype is INT32:  # nearly always
        if isinstance(expr, Const):
            return Interval.exactly(expr.value)
        if isinstance(expr, Binary):
            whole, part = interval(expr.left, ranges), interval(expr.right, ranges)
            if expr.op == "-" and (divisor := _divisor_of_rest(expr)):
                return combined("%", whole, Interval.exactly(divisor))
            return combined(expr.op, whole, part)
    found = _interval(expr, ranges)
    if dtype is INT32 or dtype is INT64 or dtype is BOOL:
        return found
    return _wrapped(found, dtype)


def _divisor_of_rest(difference: Binary) -> int:
    """The divisor in `x - x // divisor * divisor`, which is how sums show a remainder; else 0."""
    match difference.right:
        case Binary(op="*", left=Binary(op="//", left=x, right=Const(value=int(n))), right=right):
            return n if n > 0 and right == Const(n) and x == difference.left else 0
    return 0


def _interval(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval:
    match expr:
        case Const(value=value):
            return Interval.exactly(value)
        case Binary(op=op, left=a, right=b):
            if (
                expr.dtype is BOOL
                and computed_in(op, a.dtype, b.dtype) not in _EXACT[op in LOGICAL]
            ):
                return _TRUTH
            return combined(op, interval(a, ranges), interval(b, ranges))
        case Unary(op="-", operand=a):
            r = interval(a, ranges)
            return Interval(-r.high, -r.low, r.stride)
        case Unary(op="not", operand=a) if a.dtype is BOOL:
            r = interval(a, ranges)
            return Interval(1 - r.high, 1 - r.low)
        case Select(condition=c, then=a, orelse=b):
            match interval(c, ranges).value:
                case None:
                    return _either(interval(a, ranges), interval(b, ranges))
                case chosen:
                    return interval(a if chosen else b, ranges)
        case Cast(operand=a, bits=False) if expr.dtype.is_integer and a.dtype.is_integer:
            return _wrapped(interval(a, ranges), expr.dtype)
        case Load() if expr.dtype.is_integer:
            low, high = expr.dtype.limits()
            return Interval(low, high)
    return _TRUTH if expr.dtype is BOOL else EVERYTHING


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _either(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), max(a.high, b.high), math.gcd(a.stride, b.stride))


def combined(op: str, a: Interval, b: Interval) -> Interval:
    """The values of an operator, for all values of its operands."""
    match op:
        case "+":
            return Interval(a.low + b.low, a.high + b.high, math.gcd(a.stride, b.stride))
        case "-":
            return Interval(a.low - b.high, a.high - b.low, math.gcd(a.stride, b.stride))
        case "*":
            return _product(a, b)
        case "min" | "and":
            return Interval(min(a.low, b.low), min(a.high, b.high), math.gcd(a.stride, b.stride))
        case "max" | "or":
            return Interval(max(a.low, b.low), max(a.high, b.high), math.gcd(a.stride, b.stride))
        case "//" if b.low == b.high and 0 < b.low < INF:
            return _quotient(a, int(b.low))
        case "%" if b.low == b.high and 0 < b.low < INF:
            if a.low >= 0 and a.high < b.low:
                return a
            stride = math.gcd(a.stride, int(b.low))
            return Interval(0, b.low - stride, stride)
        # What is divided by zero has no value.
        case "%" if b.low >= 0 and b.high > 0:
            return Interval(0, b.high - 1)
        case "//" if b.low >= 0 and a.low >= 0:
            return Interval(0, a.high)
        case "&" | "|" | "^" | "<<" | ">>":
            return _of_bits(op, a, b)
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            decided = sign_test(op, Interval(a.low - b.high, a.high - b.low))
            return _TRUTH if decided is None else Interval.exactly(int(decided))
    return EVERYTHING


def _of_bits(op: str, a: Interval, b: Interval) -> Interval:
    match op:
        case "&" if a.low >= 0 or b.low >= 0:  # only bits of what is not negative are left
            return Interval(0, min(x.high for x in (a, b) if x.low >= 0))
        case "|" | "^" if a.low >= 0 and b.low >= 0 and max(a.high, b.high) < INF:
            return Interval(0, (1 << int(max(a.high, b.high)).bit_length()) - 1)
        case "<<" if a.low >= 0 and b.low >= 0 and b.high < INT32.bits - 1:
            return _product(a, Interval(1 << int(b.low), 1 << int(b.high)))
        case ">>" if b.low >= 0:
            return Interval(min(a.low, 0), max(a.high, 0))
    return EVERYTHING


def _product(a: Interval, b: Interval) -> Interval:
    if b.low == b.high and 0 < b.low < INF:
        return Interval(a.low * b.low, a.high * b.low, a.stride * b.stride)
    corners = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(corners), max(corners), a.stride * b.stride)


def _quotient(a: Interval, by: int) -> Interval:
    exact = a.stride % by == 0
    return Interval(_floordiv(a.low, by), _floordiv(a.high, by), a.stride // by if exact else 1)


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
    return interval(difference(large, small), ranges).low >= 0


def narrow(
    expr: Expr, ranges: Mapping[Var, Interval], found: dict[Expr, Expr] | None = None
) -> Expr:
    """The expression without the minima, maxima and comparisons that the ranges decide. `found`
    keeps the results of parts, for several expressions in the same ranges."""
    if isinstance(expr, (Const, Var)):
        return expr
    whatever = _in_any_ranges(expr)
    if whatever is not None:
        return whatever
    return _narrowed(expr, ranges, {} if found is None else found)


@lru_cache(maxsize=32768)
def is_settled(stmt: Stmt) -> bool:
    """Whether `narrow` leaves the statement's own expressions unchanged in any ranges."""
    return all(_in_any_ranges(expr) == expr for expr in compounds(stmt))


@lru_cache(maxsize=32768)
def _in_any_ranges(expr: Expr) -> Expr | None:
    """The simplified expression, if no range can decide a part of it; None for others."""
    if any(isinstance(part, Binary) and part.op in _DECIDED for part in walk_expr(expr)):
        return None
    return rebuild(simplify(expr), _part_in_any_ranges)


def _part_in_any_ranges(part: Expr) -> Expr:
    found = None if isinstance(part, (Const, Var)) else _in_any_ranges(part)
    return part if found is None else found


def _narrowed(expr: Expr, ranges: Mapping[Var, Interval], found: dict[Expr, Expr]) -> Expr:
    def part(expr: Expr) -> Expr:
        if isinstance(expr, (Const, Var)):
            return expr
        known = found.get(expr)  # names put in make the same parts stand at many places
        if known is None:
            known = _in_any_ranges(expr)
            if known is None:
                known = _decided(rebuild(simplify(expr), part), ranges)
            found[expr] = known
        return known

    return part(expr)


_DECIDED = {"min", "max", *COMPARISONS}


def _decided(expr: Expr, ranges: Mapping[Var, Interval]) -> Expr:
    """One of its operands, or a constant, where the ranges say so."""
    if not isinstance(expr, Binary) or expr.op not in _DECIDED:
        return expr
    a, b = expr.left, expr.right
    if computed_in("-", a.dtype, b.dtype) not in (INT32, INT64):
        return expr  # unsigned and narrow operands may wrap when they are compared
    match expr.op:
        case "min" | "max":
            apart = interval(difference(b, a), ranges)
            if apart.low >= 0:  # a is at most b
                return cast(a if expr.op == "min" else b, expr.dtype)
            return cast(b if expr.op == "min" else a, expr.dtype) if apart.high <= 0 else expr
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            decided = sign_test(expr.op, interval(difference(a, b), ranges))
            return expr if decided is None else Const(decided, BOOL)
    return expr


def sign_test(op: str, distance: Interval) -> bool | None:
    """The truth of `distance op 0`, if it is certain."""
    low, high = distance.low, distance.high
    match op:
        case "<":
            yes, no = high < 0, low >= 0
        case "<=":
            yes, no = high <= 0, low > 0
        case ">":
            yes, no = low > 0, high <= 0
        case ">=":
            yes, no = low >= 0, high < 0
        case "==":
            yes, no = low == high == 0, low > 0 or high < 0
        case _:
            yes, no = low > 0 or high < 0, low == high == 0
    return True if yes else False if no else None


def launch_ranges(func: Func) -> Ranges:
    """The ranges of launch indices and symbolic dimensions, valid everywhere in the body."""
    ranges: Ranges = {symbol: Interval(0, float("inf")) for symbol in func.symbols}
    ranges |= {RANK: Interval(0, INF), RANKS: Interval(1, INF), STEP: Interval(1, INF)}
    blocks = interval(func.launch.blocks, ranges)
    ranges[func.launch.block] = Interval(0, blocks.high - 1)
    ranges[func.launch.lane] = Interval(0, 1 if func.launch.threads is None else 0)
    return ranges


def loop_range(loop: For, ranges: Ranges, most: float = INF) -> Interval:
    """The interval of a loop variable while the body runs, `most` times."""
    start, stop = interval(loop.start, ranges), interval(loop.stop, ranges)
    return Interval(start.low, max(min(stop.high, start.high + most) - 1, start.low))


def with_ranges(body: Body, ranges: Ranges) -> Iterator[tuple[Stmt, Ranges]]:
    """The statements of one block, each with the intervals of the variables visible to it."""
    return _with_values(body, ranges) if _has_values(body) else zip(body, repeat(ranges))


@lru_cache(maxsize=32768)
def _has_values(body: Body) -> bool:
    """Whether one of the statements names an integer."""
    return any(isinstance(stmt, Let) and not stmt.var.dtype.is_float for stmt in body)


def _with_values(body: Body, ranges: Ranges) -> Iterator[tuple[Stmt, Ranges]]:
    known = ranges
    for stmt in body:
        yield stmt, known
        if isinstance(stmt, Let) and not stmt.var.dtype.is_float:
            known = {**known, stmt.var: interval(stmt.value, known)}


def ranges_inside(stmt: Stmt, known: Ranges) -> Ranges:
    """The ranges inside a statement: a loop adds its variable, and a branch without an alternative
    adds the bounds from its condition."""
    match stmt:
        case For(var=var):
            return {**known, var: loop_range(stmt, known)}
        case If(condition=condition, orelse=()):
            return where_holds(condition, known)
    return known


def where_holds(condition: Expr, known: Ranges) -> Ranges:
    """The ranges where a condition holds: variables that it compares have tighter bounds. Where it
    never holds, bounds stay."""
    match condition:
        case Binary(op="and", left=a, right=b):
            return where_holds(b, where_holds(a, known))
        case Binary(op=op, left=a, right=b) if computed_in(op, a.dtype, b.dtype) in (INT32, INT64):
            return _bounded(b, _MIRRORED.get(op, op), a, _bounded(a, op, b, known))
    return known


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _bounded(part: Expr, op: str, other: Expr, known: Ranges) -> Ranges:
    """The ranges where `part op other` holds, if `part` is a variable."""
    if not isinstance(part, Var):
        return known
    own, limit = interval(part, known), interval(other, known)
    low, high = own.low, own.high
    match op:
        case "<":
            high = min(high, limit.high - 1)
        case "<=":
            high = min(high, limit.high)
        case ">":
            low = max(low, limit.low + 1)
        case ">=":
            low = max(low, limit.low)
        case "==":
            low, high = max(low, limit.low), min(high, limit.high)
    return {**known, part: Interval(low, high, own.stride)} if low <= high else known


def walk_with_ranges(body: Body, ranges: Ranges) -> Iterator[tuple[Stmt, Ranges]]:
    """Every statement, outer before inner, with the intervals of the variables visible to it."""
    for stmt, known in with_ranges(body, ranges):
        yield stmt, known
        for inner in bodies(stmt):
            yield from walk_with_ranges(inner, ranges_inside(stmt, known))
