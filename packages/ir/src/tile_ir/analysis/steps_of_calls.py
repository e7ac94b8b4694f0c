"""How far a call counts in a parameter that numbers the steps of all calls."""

from __future__ import annotations

from tile_ir.expr import Const, Expr, Var
from tile_ir.nodes import For, Func, Let
from tile_ir.scalars.affine import simplify
from tile_ir.traversal import walk


def steps_of_call(func: Func, number: Var) -> Expr:
    """By one, or as often as a loop runs in which the compiler counts on from the number."""
    for loop in walk(func.launch.body):
        match loop:
            case For(body=(Let() as counted, *_)) if counted.loc.generated:
                if counted.value == simplify(number + loop.var):
                    return loop.stop
    return Const(1)
