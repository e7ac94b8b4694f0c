"""Decide branches by intervals and by facts from other branches and the loops around.

Not here: facts from the place of an iteration in its loop (`tile_checkers.conditions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from tile_ir.analysis.intervals import Interval, Ranges, interval, narrow, sign_test
from tile_ir.dtypes import UINT64
from tile_ir.expr import COMPARISONS, Binary, Const, Expr, Unary, reads_memory
from tile_ir.nodes import For
from tile_ir.scalars.affine import Values, difference, linear_form, resolved, simplify

# Expressions that are not negative.
Facts = tuple[Expr, ...]
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}


def three_valued(condition: Expr, part: Callable[[Expr], bool | None]) -> bool | None:
    """The truth of a condition from that of its parts; None if it may be either."""
    match condition:
        case Const(value=value):
            return bool(value)
        case Unary(op="not", operand=x):
            found = three_valued(x, part)
            return None if found is None else not found
        case Binary(op="and" | "or" as op, left=a, right=b):
            sides = (three_valued(a, part), three_valued(b, part))
            absorbing = op == "or"
            if absorbing in sides:
                return absorbing
            return None if None in sides else not absorbing
    return part(condition)


def decided(condition: Expr, known: Ranges, facts: Facts = ()) -> bool | None:
    """The truth of a condition with definitions put in, if it is certain."""

    def compared(part: Expr) -> bool | None:
        if isinstance(part, Binary) and part.op in COMPARISONS and _is_exact(part):
            a, b = part.left, part.right
            low = at_least(difference(a, b), known, facts)
            high = -at_least(difference(b, a), known, facts)
            return sign_test(part.op, Interval(low, high))
        return None

    return three_valued(narrow(simplify(condition), known), compared)


def at_least(expr: Expr, known: Ranges, facts: Facts) -> float:
    """A lower bound of an expression, from intervals and from `facts`, expressions that are not
    negative. One that has no term in common makes no bound better."""
    expr = simplify(expr)
    terms = _terms(expr)
    near = (f for f in facts if f.dtype is not expr.dtype or not terms.isdisjoint(_terms(f)))
    lows = (interval(difference(expr, fact), known).low for fact in near)
    return max((interval(expr, known).low, *lows))


@lru_cache(maxsize=32768)
def _terms(expr: Expr) -> frozenset[Expr]:
    """The atoms of a sum."""
    return frozenset(linear_form(expr)[0])


def at_least_by_cases(expr: Expr, known: Ranges, facts: Facts) -> float:
    """The same, where minima and maxima may be any of their operands."""
    found = at_least(expr, known, facts)
    terms, _ = linear_form(expr)
    for atom, factor in terms.items():
        if isinstance(atom, Binary) and atom.op in ("min", "max"):
            rest = expr - atom * factor
            cases = (simplify(rest + side * factor) for side in (atom.left, atom.right))
            lows = [at_least_by_cases(case, known, facts) for case in cases]
            either = max if (atom.op == "max") is (factor > 0) else min
            return max(found, either(lows))
    return found


def facts_in(loop: For, values: Values) -> Facts:
    """Expressions that are not negative while the body of a loop runs; none that reads memory."""
    start, stop = resolved(loop.start, values), resolved(loop.stop, values)
    var = loop.var
    found = (difference(var, start), difference(stop, var) - 1, difference(stop, start) - 1)
    return tuple(simplify(e) for e in found if not reads_memory(e))


def facts_of(condition: Expr, value: bool, values: Values) -> Facts:
    """Expressions that are not negative where a condition has a value; none that reads memory."""
    found = resolved(condition, values)
    return () if reads_memory(found) else tuple(map(simplify, implied(found, value)))


def implied(condition: Expr, value: bool) -> Iterator[Expr]:
    """Expressions that are not negative where a condition has a value."""
    match condition:
        case Unary(op="not", operand=x):
            yield from implied(x, not value)
        case Binary(op="and" | "or" as op, left=a, right=b) if value is (op == "and"):
            yield from implied(a, value)
            yield from implied(b, value)
        case Binary(op=op, left=a, right=b) if op in COMPARISONS and _is_exact(condition):
            match op if value else _NEGATED.get(op):
                case "<" | "<=" as op:
                    yield difference(b, a) - int(op == "<")
                case ">" | ">=" as op:
                    yield difference(a, b) - int(op == ">")
                case "==":
                    yield difference(a, b)
                    yield difference(b, a)


def _is_exact(comparison: Binary) -> bool:
    """Whether the int64 difference of the compared values decides the comparison."""
    kinds = (comparison.left.dtype, comparison.right.dtype)
    return not any(kind.is_float or kind is UINT64 for kind in kinds)
