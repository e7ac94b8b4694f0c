"""Whether a branch is certain, from the residues of loops and the place of an iteration in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tile_ir import (
    Binary,
    Expr,
    For,
    Values,
    Var,
    constant_value,
    linear_form,
    reads_memory,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir.analysis import Interval, Ranges, decided, trips
from tile_ir.analysis.branch_feasibility import Facts, three_valued
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IterationPlace:
    """Where in its loop an iteration stands: so many before and behind it, or at least so many."""

    before: int = 0
    behind: int = 0
    more_before: bool = True
    more_behind: bool = True


def decide(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, IterationPlace], ...] = (),
    facts: Facts = (),
) -> bool | None:
    """The truth of a condition, or None if it may be either."""

    def part(of: Expr) -> bool | None:
        if isinstance(of, Var) and of in plain:
            return three_valued(plain[of], part)
        readings = _readings(of, known, values, plain, places)
        found = (decided(substituted, ranges) for substituted, ranges in readings)
        certain = next((truth for truth in found if truth is not None), None)
        return certain if certain is not None else decided(resolved(of, plain), known, facts)

    return three_valued(condition, part)


def _readings(
    condition: Expr,
    known: Ranges,
    values: Values,
    plain: Values,
    places: tuple[tuple[For, IterationPlace], ...],
) -> Iterator[tuple[Expr, Ranges]]:
    """The condition with loop variables written in every form that holds here."""
    yield resolved(condition, values), known
    inside = set(walk_expr(resolved(condition, plain)))
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
    loop: For, place: IterationPlace, known: Ranges
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


def divided(expr: Expr, loads: bool = False) -> tuple[tuple[Expr, int], int] | None:
    """`(x + c) % m` as ((x, m), c), if it is worth following; what is loaded only where `loads`
    mean one value wherever they stand."""
    if not (isinstance(expr, Binary) and expr.op == "%"):
        return None
    modulus = constant_value(expr.right)
    if modulus is None or not 1 < modulus <= MOST_RESIDUES_OF_EVENTS:
        return None
    if not loads and reads_memory(expr.left):
        return None
    _, shift = linear_form(expr.left)
    return (simplify(expr.left - shift), modulus), shift


__all__ = ["IterationPlace", "decide", "divided"]
