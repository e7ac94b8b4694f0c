"""What lowering makes, without its own flags and barriers: for kernels whose order is automatic."""

from __future__ import annotations

from tile_ir import Automatic, Effect, Func, Op
from tile_ir.nodes import Body, Stmt
from tile_ir.walk import rewrite

_ORDER = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)


def is_order(stmt: Stmt) -> bool:
    """Whether a statement does nothing but order the pipes of its core."""
    return isinstance(stmt, Op) and stmt.opdef.effect in _ORDER


def without_order(func: Func, made: Body) -> Body:
    """The statements one statement of the user became; `insert_sync` orders them with all others
    if the function leaves that to the compiler."""
    if Automatic.SYNC not in func.automatic:
        return made
    return rewrite(made, lambda stmt: () if is_order(stmt) else stmt)
