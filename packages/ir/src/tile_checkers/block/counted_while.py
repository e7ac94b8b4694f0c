"""Compute the remaining trip count of a `while` that counts a scalar variable to a bound.

The variable may count up or down. Loops that count in another way have no trip count here.
"""

from __future__ import annotations

from tile_checkers.block.values import Values
from tile_ir import (
    Binary,
    Buffer,
    Expr,
    Load,
    Memory,
    Store,
    While,
    constant_value,
    rebuild,
    simplify,
    walk_expr,
)
from tile_ir import walk as walk_statements


def iterations_left(loop: While, values: Values) -> Expr | None:
    """The number of iterations from here on, not positive if there are none. None if the text does
    not determine it: the bound changes inside, or the step of the count is not constant."""
    margin = _margin(loop.condition)
    if margin is None:
        return None
    counters = {e.buffer for e in walk_expr(margin) if isinstance(e, Load)} & _stored(loop)
    if len(counters) != 1:
        return None
    (counter,) = counters
    if counter.memory is not Memory.VAR:
        return None
    stores = [s for s in walk_statements(loop.body) if isinstance(s, Store) and s.buffer == counter]
    if len(stores) != 1 or stores[0] not in loop.body:
        return None
    step = constant_value(simplify(margin - _after(margin, counter, stores[0].value)))
    if step is None or step <= 0:
        return None
    left = values.value(margin)
    return simplify(left + 1 if step == 1 else (left + step) // step)


def _margin(condition: Expr) -> Expr | None:
    """An expression that is not negative while the loop continues; None for other conditions."""
    match condition:
        case Binary(op="<" | "<=" | ">" | ">=" as op, left=a, right=b) if (
            a.dtype.is_integer and b.dtype.is_integer
        ):
            if op in ("<", "<="):
                a, b = b, a
            return simplify(a - b - int(op in ("<", ">")))
    return None


def _stored(loop: While) -> set[Buffer]:
    return {s.buffer for s in walk_statements(loop.body) if isinstance(s, Store)}


def _after(expr: Expr, counter: Buffer, value: Expr) -> Expr:
    """An expression as it reads once the counter holds `value`."""

    def put_in(e: Expr) -> Expr:
        if isinstance(e, Load) and e.buffer == counter:
            return value
        return rebuild(e, put_in)

    return put_in(expr)


__all__ = ["iterations_left"]
