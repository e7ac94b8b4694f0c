"""The elements of a tile that a nest of loops stores at computed places, counted one by one: the
places `2 * k - k % s` and `2 * k - k % s + s` fill a tile together."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import product

from tile_ir import (
    Binary,
    Body,
    Break,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Let,
    Section,
    Store,
    Var,
    constant_value,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.scalars.arithmetic import EXACT

# Places that are computed at most, in all iterations of all loops around.
MOST_PLACES = 1 << 16

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    **{op: EXACT[op] for op in ("+", "-", "*", "//", "%", "min", "max")},
    "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def stores_all(nest: For, tile: Buffer, body: Body) -> bool:
    """Whether the stores of a nest of the body, but for those in its branches, give each element of
    the tile a value together, in each iteration of the loops around the nest."""
    shape = tile.static_shape()
    if shape is None or any(isinstance(s, Break) for s in walk((nest,))):
        return False
    text = tuple(walk(body))
    lets = {s.var: s.value for s in text if isinstance(s, Let)}
    loops = {s.var: s for s in text if isinstance(s, For)}
    stores = [*_stores((nest,), tile, ())]
    inside = {loop.var for _, around in stores for loop in around}
    indices = [i for store, _ in stores for i in store.indices]
    outside = [loops[v] for v in _variables(indices, lets) if v in loops and v not in inside]
    trips = [constant_trips(loop) for loop in (*outside, *(n for _, a in stores for n in a))]
    known = [n for n in trips if n is not None and n > 0]
    if not stores or len(known) < len(trips) or math.prod(known) > MOST_PLACES:
        return False
    try:
        for numbers in product(*map(_iterations, outside)):
            values = {loop.var: n for loop, n in zip(outside, numbers, strict=True)}
            found = {p for s, around in stores for p in _places(s, around, values, lets)}
            if len(found) < math.prod(shape):
                return False
    except (_UnknownPlace, ArithmeticError, ValueError):
        return False
    return True


class _UnknownPlace(Exception):
    """A part of an index is known only when the kernel runs."""


def _stores(
    body: Body, tile: Buffer, around: tuple[For, ...]
) -> Iterator[tuple[Store, tuple[For, ...]]]:
    """The stores that run in every iteration of the loops around them."""
    for stmt in body:
        match stmt:
            case Store(buffer=buffer) if buffer is tile:
                yield stmt, around
            case For(body=inner):
                yield from _stores(inner, tile, (*around, stmt))
            case Section(body=inner):
                yield from _stores(inner, tile, around)


def _variables(exprs: list[Expr], lets: Mapping[Var, Expr]) -> dict[Var, None]:
    """The variables in expressions, and in the values of their names."""
    found: dict[Var, None] = {}
    left = [*exprs]
    while left:
        for part in walk_expr(left.pop()):
            if isinstance(part, Var) and part not in found:
                found[part] = None
                left.extend([lets[part]] if part in lets else [])
    return found


def _iterations(loop: For) -> list[int]:
    start, trips = constant_value(loop.start), constant_trips(loop)
    if start is None or trips is None:
        raise _UnknownPlace
    return [*range(start, start + trips)]


def _places(
    store: Store, around: tuple[For, ...], values: Mapping[Var, int], lets: Mapping[Var, Expr]
) -> Iterator[tuple[int, ...]]:
    """The elements inside the tile that a store writes, for values of the loops outside."""
    shape = store.buffer.static_shape() or ()
    for numbers in product(*map(_iterations, around)):
        here = {**values, **{loop.var: n for loop, n in zip(around, numbers, strict=True)}}
        place = tuple(_number(i, here, lets) for i in store.indices)
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            yield place


def _number(e: Expr, values: Mapping[Var, int], lets: Mapping[Var, Expr]) -> int:
    match e:
        case Const(value=int(value)):
            return value
        case Var() if e in values:
            return values[e]
        case Var() if e in lets:
            return _number(lets[e], values, lets)
        case Cast(operand=operand, dtype=dtype) if dtype.is_integer and dtype.bits >= 32:
            return _number(operand, values, lets)
        case Binary(op=op, left=left, right=right) if op in _OPERATORS:
            return _OPERATORS[op](_number(left, values, lets), _number(right, values, lets))
    raise _UnknownPlace
