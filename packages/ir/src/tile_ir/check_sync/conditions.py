"""Whether a branch is certain, from the phases of loops and the place of an iteration in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from tile_ir.bounds import INF, Interval, interval, narrow, simplify
from tile_ir.check_sync.loops import Place
from tile_ir.expr import Binary, Const, Expr, Unary, Var, equal
from tile_ir.nodes import For
from tile_ir.touched_bytes import resolved
from tile_ir.walk import Ranges

Values = Mapping[Var, Expr]


def decide(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, Place], ...],
) -> bool | None:
    """The truth of a condition, or None if it may be either."""
    match condition:
        case Const(value=value):
            return bool(value)
        case Var() if condition in plain:
            return decide(plain[condition], known, values, plain, places)
        case Unary(op="not", operand=x):
            found = decide(x, known, values, plain, places)
            return None if found is None else not found
        case Binary(op="and" | "or" as op, left=a, right=b):
            sides = [decide(x, known, values, plain, places) for x in (a, b)]
            absorbing = op == "or"
            if absorbing in sides:
                return absorbing
            return None if None in sides else not absorbing
        case Binary(op="!=", left=a, right=b):
            found = decide(equal(a, b), known, values, plain, places)
            return None if found is None else not found
    for substituted, ranges in _readings(condition, known, values, plain, places):
        found_expr = narrow(simplify(substituted), ranges)
        if isinstance(found_expr, Const):
            return bool(found_expr.value)
    return None


def _readings(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, Place], ...],
) -> Iterator[tuple[Expr, Ranges]]:
    """The condition with loop variables written in every way that holds here."""
    yield resolved(condition, values), known
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
    trips = interval(simplify(loop.stop - loop.start), known).high
    away = Var(f"{loop.var.name}~", loop.var.dtype)
    if place in (Place.FIRST, Place.ONLY):
        yield first, None
    if place in (Place.LAST, Place.ONLY):
        yield last, None
    rest = Interval(1, max(1, trips - 1 if trips < INF else INF))
    inner = Interval(1, max(1, trips - 2 if trips < INF else INF))
    if place is Place.FIRST:
        yield last - away, (away, rest)
    if place is Place.LAST:
        yield first + away, (away, rest)
    if place is Place.MIDDLE:
        yield first + away, (away, inner)
        yield last - away, (away, inner)


__all__ = ["decide"]
