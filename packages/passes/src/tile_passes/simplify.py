"""Expression clean-up: canonical integer forms, decided branches, loops that do not run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tile_ir import For, Func, If, Let, Phase, Target
from tile_ir.bounds import interval, narrow
from tile_ir.expr import Const, Expr
from tile_ir.nodes import Body, Stmt
from tile_ir.walk import (
    Ranges,
    bodies,
    launch_ranges,
    loop_range,
    map_own_expressions,
    with_bodies,
)
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, optional=True)
def simplify(func: Func, target: Target) -> Func:
    """Simplify every expression with what loops and launch say about its variables.

    Needs, gives: any phase. Idea: interval propagation top-down. Limits: no relations between
    variables are used.
    """
    return func.with_body(_body(func.launch.body, launch_ranges(func)))


def _body(body: Body, ranges: Ranges) -> Body:
    result: list[Stmt] = []
    known = dict(ranges)
    changed = False
    for stmt in body:
        new = map_own_expressions(stmt, partial(_narrowed, ranges=known))
        pieces = _pieces(new, known)
        changed = changed or len(pieces) != 1 or pieces[0] is not stmt
        result.extend(pieces)
        if isinstance(new, Let) and new.var.dtype.is_integer:
            known = {**known, new.var: interval(new.value, known)}
    return tuple(result) if changed else body


def _narrowed(expr: Expr, ranges: Ranges) -> Expr:
    new = narrow(expr, ranges)
    return expr if new == expr else new


def _pieces(stmt: Stmt, known: Ranges) -> Body:
    """What is left of a statement once its inner statements are simplified."""
    match stmt:
        case If(condition=Const(value=value)):
            return _body(stmt.then if value else stmt.orelse, known)
        case For(var=var, start=start, stop=stop):
            if interval(narrow(stop - start, known), known).high <= 0:
                return ()
            body = _body(stmt.body, {**known, var: loop_range(stmt, known)})
            return (stmt if body is stmt.body else replace(stmt, body=body),)
    return (with_bodies(stmt, tuple(_body(b, known) for b in bodies(stmt))),)
