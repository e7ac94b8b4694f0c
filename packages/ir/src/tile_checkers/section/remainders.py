"""Find the events that an expression may name, where they depend on a remainder of a division.

Every possible remainder is followed by itself, as far as it matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tile_checkers.conditions import IterationPlace, divided
from tile_checkers.section.loops import LoopPlan
from tile_checkers.section.state import PipeState
from tile_ir import (
    Binary,
    Const,
    Expr,
    constant_value,
    maximum,
    replace_in,
    simplify,
    walk_expr,
)

# Start and stop of a loop in which flags are chosen by what is left of its variable.
Bounds = tuple[Expr, Expr]
Node = tuple[int, IterationPlace]


def events(event: Expr, state: PipeState) -> Iterator[tuple[int, PipeState]]:
    """The numbers an expression may have, each with the state in which it does; none if they are
    unknown."""
    left = simplify(replace_in(event, lambda e: _known(e, state)))
    number = constant_value(left)
    if number is not None:
        yield number, state
        return
    for part in walk_expr(left):
        found = divided(part)
        if found is None:
            continue
        key, _ = found
        for r in range(key[1]):
            case = state.copy()
            if _recorded(key, r, case):
                yield from events(left, case)
        return


def told(expr: Expr, residue: int, modulus: int, state: PipeState) -> bool:
    """Whether an expression may leave `residue` if divided; if so, the state says that it does."""
    found = divided(Binary("%", expr, Const(modulus), expr.dtype))
    if found is None:
        return True
    key, shift = found
    return _recorded(key, (residue - shift) % modulus, state)


def _recorded(key: tuple[Expr, int], remainder: int, state: PipeState) -> bool:
    base, modulus = key
    number = constant_value(base)
    if number is not None:
        return number % modulus == remainder
    for (known, m), r in state.remainders.items():
        if known == base and (r - remainder) % math.gcd(m, modulus):
            return False
    state.remainders[key] = remainder
    return True


def entered(
    plan: LoopPlan, bounds: Bounds | None, states: Sequence[PipeState]
) -> Iterator[tuple[Node, PipeState]]:
    """The first iterations a loop may have, each with the states that may come to it."""
    for node in plan.entries():
        for state in states:
            first = state.copy()
            if bounds is None or told(bounds[0], node[0], plan.modulus, first):
                yield node, first


def not_entered(
    plan: LoopPlan, bounds: Bounds | None, states: Sequence[PipeState]
) -> Iterator[PipeState]:
    """The states in which a loop runs no iteration; it ends where it would have begun."""
    if bounds is None:
        yield from states
        return
    for residue in plan.starts:
        for state in states:
            after = state.copy()
            first = told(bounds[0], residue, plan.modulus, after)
            if first and ended_before(bounds, residue, plan.modulus, after):
                yield after


def ended_before(bounds: Bounds | None, residue: int, modulus: int, state: PipeState) -> bool:
    """A loop has ended, and its next iteration would have had this residue: whether it may have."""
    if bounds is None:
        return True
    start, stop = bounds
    return told(simplify(maximum(start, stop)), residue, modulus, state)


def _known(expr: Expr, state: PipeState) -> Expr | None:
    found = divided(expr)
    if found is None:
        return None
    (base, modulus), shift = found
    for (known, m), r in state.remainders.items():
        if m % modulus == 0 and known == base:
            return Const((r + shift) % modulus, expr.dtype)
    return None


__all__ = [
    "Bounds",
    "ended_before",
    "entered",
    "events",
    "not_entered",
]
