"""Expression clean-up: canonical integer forms, decided branches, loops that do not run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tile_ir import For, Func, If, Phase, Target
from tile_ir.analysis.intervals import (
    Ranges,
    interval,
    launch_ranges,
    narrow,
    ranges_inside,
    with_ranges,
)
from tile_ir.dtypes import BOOL
from tile_ir.expr import Const, Expr
from tile_ir.nodes import Body, Let, Stmt
from tile_ir.walk import bodies, map_own_expressions, replace_in, with_bodies, with_statements
from tile_passes.passdef import ir_pass

# What conditions with a name are known to be.
Truths = Mapping[Expr, Expr]


@ir_pass(needs=Phase.BUILT, optional=True)
def simplify(func: Func, target: Target) -> Func:
    """Simplify every expression with what loops and launch say about its variables.

    Needs, gives: any phase. Idea: interval propagation top-down. Limits: no relations between
    variables are used.
    """
    return func.with_body(_body(func.launch.body, launch_ranges(func), {}))


def _body(body: Body, ranges: Ranges, truths: Truths) -> Body:
    result: list[Stmt] = []
    for stmt, known in with_ranges(body, ranges):
        plain = map_own_expressions(stmt, partial(_narrowed, ranges=known))
        result += _pieces(plain, known, truths)
        match plain:
            case Let(var=var, value=Const() as value) if var.dtype == BOOL:
                truths = {**truths, var: value}
    return with_statements(body, result)


def _narrowed(expr: Expr, ranges: Ranges) -> Expr:
    new = narrow(expr, ranges)
    return expr if new == expr else new


def _pieces(stmt: Stmt, known: Ranges, truths: Truths) -> Body:
    """What is left of a statement once its inner statements are simplified."""
    match stmt:
        case If(condition=condition):
            decided = narrow(replace_in(condition, truths.get), known) if truths else condition
            if isinstance(decided, Const):
                return _body(stmt.then if decided.value else stmt.orelse, known, truths)
        case For(start=start, stop=stop) if interval(narrow(stop - start, known), known).high <= 0:
            return ()
    inside = ranges_inside(stmt, known)
    return (with_bodies(stmt, tuple(_body(b, inside, truths) for b in bodies(stmt))),)
