"""Stores that take turns and store one of the numbers of a byte each, as one store of all of them:
one conversion takes the numbers apart, in the order of the row."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import (
    BOOL,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Store,
    Unary,
    children,
    constant_value,
    difference,
    rebuild,
    select,
    simplify,
    substitute,
    walk_expr,
)
from tile_passes.parallel.joined_stores import AsOne, as_one
from tile_passes.parallel.nest import Leaf
from tile_passes.parallel.packed_fields import packed_fields


def store_of_fields(parts: Sequence[Leaf]) -> Leaf | None:
    """The leaf that does what all the stores do, where it stores numbers of their elements."""
    one = as_one(parts) if parts[0].loops else None
    if one is None:
        return None
    values = [substitute(s.value, {one.var: one.place}) for s in one.stores]
    value = _picked(values, one)
    if value is None:
        return None
    first = one.stores[0]
    store = Store(first.buffer, one.indices, value, first.loc)
    leaf = Leaf(one.loops, parts[0].guards, store)
    return leaf if packed_fields(store, leaf) else None


def _picked(values: Sequence[Expr], one: AsOne) -> Expr | None:
    """One expression for all: what differs is chosen by the turn, as far inside as may be, and only
    among integers."""
    first, *others = values
    if all(v == first for v in others):
        return first
    if first.dtype.is_integer:
        counted = [constant_value(difference(v, first)) for v in values]
        if counted == [*range(len(values))] and one.place in walk_expr(first):
            rest = simplify(first - one.place * len(values))
            if one.place not in walk_expr(rest):
                return simplify(one.wide + rest)
    below = [children(v) for v in values]
    if below[0] and all(_has_head_of(v, first) for v in others):
        inside = [_picked(parts, one) for parts in zip(*below, strict=True)]
        found = [e for e in inside if e is not None]
        if len(found) == len(inside):
            given = iter(found)
            return rebuild(first, lambda _: next(given))
    if not all(v.dtype.is_integer and v.dtype is first.dtype for v in values):
        return None
    chosen = values[-1]
    for number, value in reversed([*enumerate(values[:-1])]):
        chosen = select(Binary("==", one.turn, Const(number, one.turn.dtype), BOOL), value, chosen)
    return chosen


def _has_head_of(value: Expr, other: Expr) -> bool:
    """Whether two expressions are the same but for those below them."""
    if value.dtype is not other.dtype:
        return False
    match value, other:
        case Load(buffer=a), Load(buffer=b):
            return a is b
        case (Binary(op=a), Binary(op=b)) | (Unary(op=a), Unary(op=b)):
            return a == b
        case Cast(bits=a), Cast(bits=b):
            return a == b
    return isinstance(value, Select) and isinstance(other, Select)
