"""Expression clean-up: canonical integer forms, names of constants, decided branches, loops that do
not run or run once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tile_ir import For, Func, If, Phase, Target
from tile_ir.analysis.intervals import (
    Ranges,
    launch_ranges,
    narrow,
    ranges_inside,
    with_ranges,
)
from tile_ir.analysis.trip_count import trips
from tile_ir.expr import Const, Expr, Var, substitute
from tile_ir.nodes import Body, Let, LoopKind, Stmt
from tile_ir.walk import bodies, breaks, map_own_expressions, with_bodies, with_statements
from tile_passes.passdef import ir_pass

# What names stand for that are constant integers or truths.
Constants = Mapping[Var, Expr]
# Loops whose rounds come one after another, whatever else they say.
_IN_TURN = (LoopKind.SERIAL, LoopKind.UNROLL, LoopKind.PIPELINED)


@ir_pass(needs=Phase.BUILT, optional=True)
def simplify(func: Func, target: Target) -> Func:
    """Simplify every expression with what loops and launch say about its variables.

    Needs, gives: any phase. Idea: constant propagation and intervals, top-down; a loop of one round
    is its body. Limits: no relations between variables are used; names of floats
    stay, as operations on them are left to run time.
    """
    return func.with_body(_body(func.launch.body, launch_ranges(func), {}))


def _body(body: Body, ranges: Ranges, constants: Constants) -> Body:
    result: list[Stmt] = []
    for stmt, known in with_ranges(body, ranges):
        plain = map_own_expressions(stmt, partial(_narrowed, ranges=known, constants=constants))
        match plain:
            case Let(var=var, value=Const() as value) if not var.dtype.is_float:
                constants = {**constants, var: value}
            case _:
                result += _pieces(plain, known, constants)
    return with_statements(body, result)


def _narrowed(expr: Expr, ranges: Ranges, constants: Constants) -> Expr:
    new = narrow(substitute(expr, constants), ranges)
    return expr if new == expr else new


def _pieces(stmt: Stmt, known: Ranges, constants: Constants) -> Body:
    """What is left of a statement once its inner statements are simplified."""
    match stmt:
        case If(condition=Const(value=value)):
            return _body(stmt.then if value else stmt.orelse, known, constants)
        case For(var=var, start=start, kind=kind) if kind in _IN_TURN:
            rounds = trips(stmt, known)
            if rounds.high <= 0:
                return ()
            if rounds.low == rounds.high == 1 and not any(breaks(stmt.body)):
                return _body((Let(var, start, stmt.loc), *stmt.body), known, constants)
    inside = ranges_inside(stmt, known)
    return (with_bodies(stmt, tuple(_body(b, inside, constants) for b in bodies(stmt))),)
