"""A kernel without the flags and barriers of its author, to have it ordered some other way."""

from __future__ import annotations

from tile_ir import Effect, Func, Op, Stmt, bodies, rewrite

# What orders the pipes of one core; signals between cores stay the user's.
_IN_CORE = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER})


def without_flags(func: Func) -> Func:
    """The kernel without its in-core flags and barriers, and without what holds nothing else."""

    def dropped(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, Op) and stmt.opdef.effect in _IN_CORE:
            return ()
        inner = bodies(stmt)
        return stmt if not inner or any(inner) else ()

    return func.with_body(rewrite(func.launch.body, dropped))
