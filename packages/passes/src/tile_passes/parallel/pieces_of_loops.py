"""Pieces of a loop in which quotients do not change. `x[(j + D // 2) % D]`, the other half of a
row, is plain in either half of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tile_ir import (
    Binary,
    Const,
    Expr,
    Stmt,
    Var,
    constant_value,
    expressions,
    linear_form,
    map_expressions,
    rebuild,
    simplify,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import Leaf
from tile_passes.parallel.residue_classes import divisor_of

# Of more pieces each has too few elements.
MOST_PIECES = 4


def pieces_of_loops(leaf: Leaf) -> list[Leaf] | None:
    """One statement for each piece of the innermost loop, together over the same elements; None
    where there is one piece, or there are too many, or quotients remain."""
    if not leaf.loops:
        return None
    *outer, loop = leaf.loops
    start, trips = constant_value(loop.start), constant_trips(loop)
    if start is None or trips is None:
        return None
    ends = sorted({*_changes(leaf.stmt, loop.var, start, start + trips)})
    if not 0 < len(ends) < MOST_PIECES:
        return None
    found = []
    for first, end in zip((start, *ends), (*ends, start + trips), strict=True):
        (stmt,) = map_expressions((leaf.stmt,), partial(_in_piece, var=loop.var, first=first))
        if any(True for _ in _divided(stmt, loop.var)):
            return None
        piece = replace(loop, start=Const(first), stop=Const(end))
        found.append(replace(leaf, loops=(*outer, piece), stmt=stmt))
    return found


def _divided(stmt: Stmt, var: Var) -> Iterator[tuple[Binary, int]]:
    """The quotients, remainders and exchanges of sums that follow the variable, with divisors."""
    for inner in walk((stmt,)):
        for e in expressions(inner):
            for part in walk_expr(e):
                divisor = divisor_of(part, var)
                if divisor is not None:
                    assert isinstance(part, Binary), "it has a divisor"
                    yield part, divisor


def _changes(stmt: Stmt, var: Var, start: int, stop: int) -> Iterator[int]:
    """The values of the variable, behind the first one, with which a quotient changes."""
    for e, divisor in _divided(stmt, var):
        constant, bits = linear_form(e.left)[1], constant_value(e.right) or 1
        step = bits & -bits if e.op == "^" else divisor
        first = start + 1 + (-(start + 1) - constant) % step
        yield from range(first, stop, step)


def _in_piece(e: Expr, var: Var, first: int) -> Expr:
    """An expression in the piece from `first` on, with its quotients computed."""
    if var not in walk_expr(e):
        return e
    divisor = divisor_of(e, var)
    inner = rebuild(e, partial(_in_piece, var=var, first=first))
    if divisor is None:
        return inner
    assert isinstance(e, Binary), "it has a divisor"
    terms, constant = linear_form(e.left)
    others = {atom: factor for atom, factor in terms.items() if atom is not var}
    if terms.get(var) != 1 or any(factor % divisor for factor in others.values()):
        return inner
    quotient, rest = divmod(first + constant, divisor)
    match e.op:
        case "^":
            return simplify(e.left + ((rest ^ (constant_value(e.right) or 0)) - rest))
        case "%" | "&":
            return simplify(var + constant - quotient * divisor)
    sums = (atom * (factor // divisor) for atom, factor in others.items())
    return simplify(sum(sums, Const(quotient, e.dtype)))
