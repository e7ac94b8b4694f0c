"""Classes of iterations by their residue. A byte with two values of four bits is read at `j // 2`,
and `j % 2` selects one of the values: both are plain for all even `j`, and for all odd ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from tile_ir import (
    INT32,
    INT64,
    Binary,
    Const,
    Expr,
    For,
    Stmt,
    Store,
    Var,
    constant_value,
    linear_form,
    map_expressions,
    rebuild,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Ranges, constant_trips
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.joined_stores import MOST_TURNS, joined_stores
from tile_passes.parallel.nest import Leaf, NoRoom, Unsuitable
from tile_passes.parallel.parts_of_rows import Steps, parts_of_rows
from tile_passes.parallel.temporaries import Temporaries


def by_residue(
    store: Store, leaf: Leaf, known: Ranges, steps_of: Steps, temporaries: Temporaries
) -> list[Stmt]:
    """The store for one class after another; some rows at a time, where tiles have no room for all.
    Raises Unsuitable."""
    classes = residue_classes(replace(leaf, stmt=store))
    if classes is None:
        raise Unsuitable("its indices divide no loop variable")
    made = len(temporaries.allocs)
    steps: list[Stmt] = []
    try:
        for part in joined_stores(classes, temporaries.room):
            assert isinstance(part.stmt, Store), "a store was taken apart"
            steps += steps_of(part.stmt, part, known)
            temporaries.give_back_all()
    except Unsuitable as problem:
        temporaries.forget_since(made)
        if not isinstance(problem, NoRoom):
            raise
        again = partial(by_residue, steps_of=steps_of, temporaries=temporaries)
        parts = parts_of_rows(leaf, known, again, temporaries)
        if parts is None:
            raise
        return parts[1]
    return steps


def residue_classes(leaf: Leaf) -> list[Leaf] | None:
    """One store for each residue of a loop variable by which the store divides it, together over
    the same elements; None where it divides none, or where quotients remain."""
    store = leaf.stmt
    if not isinstance(store, Store):
        return None
    for number, loop in reversed([*enumerate(leaf.loops)]):
        by = math.lcm(*_divisors(store, loop.var))
        start, trips = constant_value(loop.start), constant_trips(loop)
        if start is None or trips is None or not 1 < by <= MOST_TURNS or start % by or trips % by:
            continue
        short = _shortened(loop, start // by, trips // by)
        loops = (*leaf.loops[:number], short, *leaf.loops[number + 1 :])
        classes = [_of_residue(store, loop.var, short.var * by + r) for r in range(by)]
        if not any(d for each in classes for d in _divisors(each, short.var)):
            return [replace(leaf, loops=loops, stmt=each) for each in classes]
    return None


def _shortened(loop: For, start: int, trips: int) -> For:
    var = Var(loop.var.name, loop.var.dtype)
    return replace(loop, var=var, start=Const(start), stop=Const(start + trips))


def _of_residue(store: Store, var: Var, place: Expr) -> Store:
    (moved,) = map_expressions((store,), partial(at_residue, var=var, place=place))
    assert isinstance(moved, Store), "expressions change, no statement does"
    return moved


def at_residue(e: Expr, var: Var, place: Expr) -> Expr:
    """An expression for one residue, with its quotients computed."""
    if var not in walk_expr(e):
        return e
    divisor = _divisor(e, var)
    inner = rebuild(e, partial(at_residue, var=var, place=place))
    if divisor is not None:
        assert isinstance(e, Binary), "a quotient or a remainder"
        op = {">>": "//", "&": "%"}.get(e.op, e.op)
        left = substitute(e.left, {var: place})
        return simplify(Binary(op, left, Const(divisor, e.dtype), e.dtype))
    return place if e == var else inner


def _divisors(store: Store, var: Var) -> Iterator[int]:
    """The numbers by which the store divides sums that follow the variable."""
    for e in (*store.indices, store.value):
        for part in walk_expr(e):
            divisor = _divisor(part, var)
            if divisor is not None:
                yield divisor


def _divisor(e: Expr, var: Var) -> int | None:
    """The divisor of a quotient or remainder of integers, also of shifts and masks."""
    if not isinstance(e, Binary) or e.dtype not in (INT32, INT64):
        return None
    by = constant_value(e.right)
    if by is None or by < 0 or var not in linear_form(e.left)[0]:
        return None
    match e.op:
        case "//" | "%" if by > 0:
            return by
        case ">>" if by < MOST_TURNS:
            return 1 << by
        case "&" if by & (by + 1) == 0:
            return by + 1
    return None
