"""Compare the order of two accesses of a nest: which iterations touch the same element.

The iterations of both are enumerated. Requires constant bounds; terms of indices that no loop of
the nest changes have to be the same in both accesses, so that they cancel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tile_ir import Binary, Const, Expr, Select, Unary, Var, linear_form, walk_expr
from tile_ir.lazy import np
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.element_uses import Use

# Of more iterations than these no order is computed.
MOST_ITERATIONS = 1 << 18


@dataclass(frozen=True, slots=True)
class Meeting:
    """Whether the first access touches an element in an earlier iteration than the second one does,
    and in a later one."""

    earlier: bool
    later: bool


class _NotConstant(Exception):
    """A value is not known at compile time."""


def meeting(first: Use, second: Use) -> Meeting | None:
    """How two accesses to one buffer meet in different iterations; None where constants do not say.

    Conditions that depend on data are taken to hold.
    """
    try:
        rows = _iterations(first), _iterations(second)
        common = [
            loop.var
            for loop, other in zip(first.leaf.loops, second.leaf.loops, strict=False)
            if loop.var == other.var
        ]
        counts = _count(rows[0]), _count(rows[1])
        keys = _numbered([(rows[0][v], rows[1][v]) for v in common], counts)
        pairs = zip(first.indices, second.indices, strict=True)
        places = _numbered([_places(a, b, rows) for a, b in pairs], counts)
    except _NotConstant:
        return None
    (own, least, most) = _first_and_last(places[0], keys[0])
    (other, low, high) = _first_and_last(places[1], keys[1])
    _, at, there = np.intersect1d(own, other, assume_unique=True, return_indices=True)
    return Meeting(
        bool((least[at] < high[there]).any()),
        bool((most[at] > low[there]).any()),
    )


def _iterations(access: Use) -> dict[Var, Any]:
    """The values of the loop variables in all iterations in which the access is made, in order."""
    rows: dict[Var, Any] = {}
    count = 1
    for loop in access.loops:
        start = np.broadcast_to(_values(loop.start, rows), count)
        trips = np.maximum(np.broadcast_to(_values(loop.stop, rows), count) - start, 0)
        if trips.sum() > MOST_ITERATIONS:
            raise _NotConstant
        rows = {var: np.repeat(values, trips) for var, values in rows.items()}
        ends = np.cumsum(trips)
        count = int(ends[-1]) if len(ends) else 0
        rows[loop.var] = np.arange(count) - np.repeat(ends - trips - start, trips)
    for condition in access.conditions:
        try:
            holds = np.broadcast_to(_values(condition, rows), count).astype(bool)
        except _NotConstant:
            continue
        rows = {var: values[holds] for var, values in rows.items()}
        count = int(holds.sum())
    return rows


def _count(rows: Mapping[Var, Any]) -> int:
    return len(next(iter(rows.values())))


def _places(a: Expr, b: Expr, rows: tuple[dict[Var, Any], dict[Var, Any]]) -> tuple[Any, Any]:
    """The values of two indices of a dimension, but for what both add."""
    values = []
    fixed = []
    for index, own in zip((a, b), rows, strict=True):
        terms, constant = linear_form(index)
        rest = {e: f for e, f in terms.items() if not any(p in own for p in walk_expr(e))}
        total = np.full(_count(own), constant, np.int64)
        for atom, factor in terms.items():
            if atom not in rest:
                total = total + factor * _values(atom, own)
        values.append(total)
        fixed.append(rest)
    if fixed[0] != fixed[1]:
        raise _NotConstant
    return values[0], values[1]


def _numbered(pairs: Sequence[tuple[Any, Any]], counts: tuple[int, int]) -> tuple[Any, Any]:
    """One number for each tuple of values, in their order, the same for both sides."""
    first, second = (np.zeros(count, np.int64) for count in counts)
    for a, b in pairs:
        both = np.concatenate((a, b))
        low = both.min() if len(both) else 0
        size = (both.max() - low + 1) if len(both) else 1
        first, second = first * size + (a - low), second * size + (b - low)
    return first, second


def _first_and_last(places: Any, keys: Any) -> tuple[Any, Any, Any]:
    """The elements, each once, with the first and the last iteration that touches it."""
    found, inverse = np.unique(places, return_inverse=True)
    least = np.full(len(found), np.iinfo(np.int64).max)
    most = np.full(len(found), np.iinfo(np.int64).min)
    np.minimum.at(least, inverse, keys)
    np.maximum.at(most, inverse, keys)
    return found, least, most


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "min": lambda a, b: np.minimum(a, b),
    "max": lambda a, b: np.maximum(a, b),
    "and": lambda a, b: np.logical_and(a, b),
    "or": lambda a, b: np.logical_or(a, b),
}
_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {"//": operator.floordiv, "%": operator.mod}


def _values(e: Expr, rows: Mapping[Var, Any]) -> Any:
    """The values of an integer expression in all iterations. Raises _NotConstant."""
    match e:
        case Const(value=value) if not isinstance(value, float):
            return np.int64(value)
        case Var() if e in rows:
            return rows[e]
        case Binary(op=op, left=a, right=b) if op in _OPERATIONS:
            return _OPERATIONS[op](_values(a, rows), _values(b, rows))
        case Binary(op=op, left=a, right=Const(value=int(value))) if op in _DIVISIONS and value:
            return _DIVISIONS[op](_values(a, rows), np.int64(value))
        case Unary(op="-", operand=a):
            return -_values(a, rows)
        case Unary(op="not", operand=a):
            return np.logical_not(_values(a, rows))
        case Select(condition=c, then=a, orelse=b):
            return np.where(_values(c, rows), _values(a, rows), _values(b, rows))
    raise _NotConstant
