"""Classes of iterations by their residue. A byte with two values of four bits is read at `j // 2`,
and `j % 2` selects one of the values: both are plain for all even `j`, and for all odd ones. So is
`j ^ 1`, the neighbour in a pair."""

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
    Var,
    constant_value,
    expressions,
    linear_form,
    map_expressions,
    rebuild,
    simplify,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.joined_stores import MOST_TURNS
from tile_passes.parallel.nest import Leaf


def residue_classes(leaf: Leaf) -> list[Leaf] | None:
    """One statement for each residue of a loop variable by which the leaf divides it, together over
    the same elements; None where it divides none, or where quotients remain."""
    for number, loop in reversed([*enumerate(leaf.loops)]):
        by = math.lcm(*divisors(leaf.stmt, loop.var))
        start, trips = constant_value(loop.start), constant_trips(loop)
        if start is None or trips is None or not 1 < by <= MOST_TURNS or start % by or trips % by:
            continue
        short = _shortened(loop, start // by, trips // by)
        loops = (*leaf.loops[:number], short, *leaf.loops[number + 1 :])
        classes = [_of_residue(leaf.stmt, loop.var, short.var * by + r) for r in range(by)]
        if not any(d for each in classes for d in divisors(each, short.var)):
            return [replace(leaf, loops=loops, stmt=each) for each in classes]
    return None


def _shortened(loop: For, start: int, trips: int) -> For:
    var = Var(loop.var.name, loop.var.dtype)
    return replace(loop, var=var, start=Const(start), stop=Const(start + trips))


def _of_residue(stmt: Stmt, var: Var, place: Expr) -> Stmt:
    (moved,) = map_expressions((stmt,), partial(at_residue, var=var, place=place))
    return moved


def at_residue(e: Expr, var: Var, place: Expr) -> Expr:
    """An expression for one residue, with its quotients computed."""
    if var not in walk_expr(e):
        return e
    divisor = divisor_of(e, var)
    inner = rebuild(e, partial(at_residue, var=var, place=place))
    if divisor is None:
        return place if e == var else inner
    assert isinstance(e, Binary), "a quotient or a remainder"
    left = substitute(e.left, {var: place})
    if e.op == "^":
        return _exchanged(e, left, divisor)
    op = {">>": "//", "&": "%"}.get(e.op, e.op)
    return simplify(Binary(op, left, Const(divisor, e.dtype), e.dtype))


def _exchanged(e: Binary, left: Expr, divisor: int) -> Expr:
    """`left ^ bits`, as a sum where the remainder of the left side by the divisor is known."""
    terms, constant = linear_form(left)
    if any(factor % divisor for factor in terms.values()):
        return Binary(e.op, left, e.right, e.dtype)
    rest = constant % divisor
    return simplify(left + ((rest ^ (constant_value(e.right) or 0)) - rest))


def divisors(stmt: Stmt, var: Var) -> Iterator[int]:
    """The numbers by which a statement divides sums that follow the variable."""
    for inner in walk((stmt,)):
        for e in expressions(inner):
            for part in walk_expr(e):
                divisor = divisor_of(part, var)
                if divisor is not None:
                    yield divisor


def divisor_of(e: Expr, var: Var) -> int | None:
    """The divisor of a quotient or remainder of integers, also of shifts, masks and exchanges."""
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
        case "^" if by > 0:
            return 1 << by.bit_length()
    return None
