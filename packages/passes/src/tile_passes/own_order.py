"""Whether a kernel orders its pipes and its cores itself, and what it leaves to the compiler."""

from __future__ import annotations

from tile_ir import (
    Automatic,
    Body,
    Effect,
    Expr,
    Func,
    Memory,
    Op,
    Section,
    expressions,
    walk,
    walk_expr,
    walk_ops,
)
from tile_ir.opdef import Among

_ORDER = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)
_INFERRED = (Memory.SHARED, Memory.FRAGMENT)
_CROSS_FLAGS = (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG)
_BY_HAND = (*_ORDER, *_CROSS_FLAGS)
# What others wait for, and what is printed with the number of its block.
_SAYS_WHEN = (
    Effect.SYNC_ALL, Effect.SIGNAL, Effect.AWAIT_SIGNAL, Effect.ENGINE, Effect.AWAIT_ENGINE,
    Effect.PRINT, Effect.DUMP,
)  # fmt: skip


def has_no_order(func: Func) -> bool:
    """Whether a traced kernel is in developer style and says nothing of its own order: no lane, no
    scope, no flag, no barrier (docs/language/rules.md#order-of-one-core)."""
    inferred = any(a.buffer.memory in _INFERRED for a in func.launch.allocs)
    if not inferred or func.launch.lane in variables_of(func.launch.body):
        return False
    return not any(
        isinstance(s, Section) or (isinstance(s, Op) and s.opdef.effect in _BY_HAND)
        for s in walk(func.launch.body)
    )


def variables_of(body: Body) -> set[Expr]:
    """The variables that the statements use."""
    return {p for s in walk(body) for e in expressions(s) for p in walk_expr(e)}


def left_with(func: Func, more: Automatic | None = None) -> frozenset[Automatic]:
    """The decisions left to the compiler when a function's lanes or its cores are the compiler's.
    The order inside a core is among them, unless the text has a flag or a barrier of its own."""
    left = func.automatic if more is None else func.automatic | {more}
    return left if _own_pipe_order(func) else left | {Automatic.SYNC, Automatic.MEMORY}


def _own_pipe_order(func: Func) -> bool:
    ops = [s for s in walk(func.launch.body) if isinstance(s, Op)]
    # A call of the language that is several operations brings the barriers between them.
    steps = {op.loc for op in ops if op.opdef.effect not in _ORDER}
    return any(op.opdef.effect in _ORDER and op.loc not in steps for op in ops)


def open_for_speed(func: Func) -> frozenset[Automatic]:
    """The decisions on when work is done that no text of a kernel contradicts.

    The overlap of iterations is open if all order inside a block is the compiler's. The order of
    blocks is open if besides none waits for another one or says which one it is. Blocks become one,
    and rows of tiles longer, only where the memories of all tiles are the compiler's too."""
    automatic = Automatic.SYNC in func.automatic or func.launch.threads == 2
    if not automatic or _own_pipe_order(func) or own_cross_flag(func) is not None:
        return frozenset()
    if any(says_when(op) for op in walk_ops(func.launch.body)):
        return frozenset({Automatic.ITERATIONS})
    free = frozenset({Automatic.ITERATIONS, Automatic.GRID})
    return free | {Automatic.NEIGHBOURS, Automatic.PITCHES} if _is_inferred(func) else free


def _is_inferred(func: Func) -> bool:
    """Whether the author left it to the compiler where each tile lies."""
    tiles = [a for a in func.launch.allocs if a.buffer.memory is not Memory.VAR]
    return bool(tiles) and all(
        a.buffer.memory in _INFERRED and a.address is None and a.alias_of is None for a in tiles
    )


def says_when(op: Op) -> bool:
    """Whether something outside of its block waits for an operation, or sees when it is done."""
    return op.opdef.effect in _SAYS_WHEN and op.opdef.among is not Among.BLOCK


def own_cross_flag(func: Func) -> Op | None:
    """The first flag between cores in the text: no order of the compiler's goes with it."""
    ops = (s for s in walk(func.launch.body) if isinstance(s, Op))
    return next((op for op in ops if op.opdef.effect in _CROSS_FLAGS), None)
