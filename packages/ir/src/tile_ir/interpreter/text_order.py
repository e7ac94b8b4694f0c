"""Find the statements that the cores of a block do not execute together, step by step.

The condition of such a statement belongs to only one core, or to each lane for itself.
"""

from __future__ import annotations

from tile_ir.expr import Expr, Load, Var, walk_expr
from tile_ir.machine import CORE_OF_MEMORY
from tile_ir.nodes import For, Func, If, Let, While
from tile_ir.traversal import walk


def alone_in(func: Func) -> frozenset[int]:
    """The ids of these statements of a function."""
    own: set[Var] = {func.launch.lane}
    found: set[int] = set()

    def decides_alone(expr: Expr) -> bool:
        return any(
            e in own or (isinstance(e, Load) and e.buffer.memory in CORE_OF_MEMORY)
            for e in walk_expr(expr)
        )

    for stmt in walk(func.launch.body):
        match stmt:
            case Let(var=var, value=value) if decides_alone(value):
                own.add(var)
            case If(condition=c) | While(condition=c) if decides_alone(c):
                found.add(id(stmt))
            case For(start=start, stop=stop) if decides_alone(start) or decides_alone(stop):
                found.add(id(stmt))
    return frozenset(found)
