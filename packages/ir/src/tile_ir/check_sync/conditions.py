"""Whether a branch is certain, from the residues of loops and the place of an iteration in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tile_ir.analysis.affine import resolved, simplify
from tile_ir.analysis.intervals import Interval, Ranges, interval, narrow
from tile_ir.analysis.trip_count import trips
from tile_ir.expr import Binary, Const, Expr, Load, Unary, Var, equal, reads_memory, walk
from tile_ir.nodes import For

Values = Mapping[Var, Expr]
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its loop an iteration stands: so many before and behind it, or at least so many."""

    before: int = 0
    behind: int = 0
    more_before: bool = True
    more_behind: bool = True


# Expressions that are not negative.
Facts = tuple[Expr, ...]


def decide(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, Place], ...] = (),
    facts: Facts = (),
) -> bool | None:
    """The truth of a condition, or None if it may be either."""

    def part(of: Expr) -> bool | None:
        return decide(of, known, values, plain, places, facts)

    match condition:
        case Const(value=value):
            return bool(value)
        case Var() if condition in plain:
            return part(plain[condition])
        case Unary(op="not", operand=x):
            found = part(x)
            return None if found is None else not found
        case Binary(op="and" | "or" as op, left=a, right=b):
            sides = [part(a), part(b)]
            absorbing = op == "or"
            if absorbing in sides:
                return absorbing
            return None if None in sides else not absorbing
        case Binary(op="!=", left=a, right=b):
            found = part(equal(a, b))
            return None if found is None else not found
    for substituted, ranges in _readings(condition, known, values, plain, places):
        found_expr = narrow(simplify(substituted), ranges)
        if isinstance(found_expr, Const):
            return bool(found_expr.value)
    # As it stands, and without what intervals decide inside it.
    stated = resolved(condition, plain)
    for form in (stated, narrow(simplify(stated), known)):
        for truth in (True, False):
            needed = list(_implied(form, truth))
            if needed and all(at_least(e, known, facts) >= 0 for e in needed):
                return truth
    return None


def at_least(expr: Expr, known: Ranges, facts: Facts) -> float:
    """A lower bound of an expression, from intervals and from what is not negative."""
    expr = simplify(expr)
    bounds = [interval(expr, known).low]
    bounds += [interval(simplify(expr - fact), known).low for fact in facts]
    return max(bounds)


def facts_of(condition: Expr, value: bool, plain: Values) -> Facts:
    """What is not negative where a condition has a value; nothing that is loaded."""
    found = resolved(condition, plain)
    if reads_memory(found):
        return ()
    return tuple(map(simplify, _implied(found, value)))


def _implied(condition: Expr, value: bool) -> Iterator[Expr]:
    match condition:
        case Unary(op="not", operand=x):
            yield from _implied(x, not value)
        case Binary(op="and" | "or" as op, left=a, right=b) if value is (op == "and"):
            yield from _implied(a, value)
            yield from _implied(b, value)
        case Binary(op=op, left=a, right=b) if a.dtype.is_integer and b.dtype.is_integer:
            if not value:
                op = _NEGATED.get(op, "")
            if op in ("<", "<="):
                yield b - a - int(op == "<")
            if op in (">", ">="):
                yield a - b - int(op == ">")
            if op == "==":
                yield a - b
                yield b - a


def facts_in(loop: For, plain: Values) -> Facts:
    """What is not negative while the body of a loop runs."""
    start, stop = resolved(loop.start, plain), resolved(loop.stop, plain)
    if any(isinstance(e, Load) for x in (start, stop) for e in walk(x)):
        return ()
    found = (loop.var - start, stop - 1 - loop.var, stop - start - 1)
    return tuple(simplify(e) for e in found)


def _readings(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, Place], ...],
) -> Iterator[tuple[Expr, Ranges]]:
    """The condition with loop variables written in every way that holds here."""
    yield resolved(condition, values), known
    inside = set(walk(resolved(condition, plain)))
    places = tuple((loop, place) for loop, place in places if loop.var in inside)
    choices = [[(loop.var, *form) for form in _forms(loop, place, known)] for loop, place in places]
    for chosen in itertools.product(*choices) if choices else ():
        ranges = dict(known)
        instead = dict(plain)
        for var, value, distance in chosen:
            instead[var] = value
            if distance is not None:
                ranges[distance[0]] = distance[1]
        yield resolved(condition, instead), ranges


def _forms(
    loop: For, place: Place, known: Ranges
) -> Iterator[tuple[Expr, tuple[Var, Interval] | None]]:
    """The loop variable from the start on, and from the end back."""
    first, last = loop.start, loop.stop - 1
    most = trips(loop, known).high
    away = Var(f"{loop.var.name}~", loop.var.dtype)
    if not place.more_before:
        yield first + place.before, None
    if not place.more_behind:
        yield last - place.behind, None
    if place.more_before:
        span = Interval(place.before, max(place.before, most - 1 - place.behind))
        yield first + away, (away, span)
    if place.more_behind:
        span = Interval(place.behind, max(place.behind, most - 1 - place.before))
        yield last - away, (away, span)


__all__ = ["Facts", "Place", "at_least", "decide", "facts_in", "facts_of"]
