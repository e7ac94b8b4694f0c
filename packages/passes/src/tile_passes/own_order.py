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
)

_ORDER = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)
_INFERRED = (Memory.SHARED, Memory.FRAGMENT)
_CROSS_FLAGS = (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG)
_BY_HAND = (*_ORDER, *_CROSS_FLAGS)


def has_no_order(func: Func) -> bool:
    """Whether a traced kernel is in developer style and says nothing of its own order: no lane, no
    scope, no flag, no barrier (docs/rules/cores.md#order-of-one-core)."""
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
    """What a function leaves to the compiler when its lanes or its cores are the compiler's: with
    them goes the order inside a core, unless the text has a flag or a barrier of its own."""
    left = func.automatic if more is None else func.automatic | {more}
    ops = [s for s in walk(func.launch.body) if isinstance(s, Op)]
    # A call of the language that is several operations brings the barriers between them.
    steps = {op.loc for op in ops if op.opdef.effect not in _ORDER}
    own = any(op.opdef.effect in _ORDER and op.loc not in steps for op in ops)
    return left if own else left | {Automatic.SYNC, Automatic.MEMORY}


def own_cross_flag(func: Func) -> Op | None:
    """The first flag between cores in the text: no order of the compiler's goes with it."""
    ops = (s for s in walk(func.launch.body) if isinstance(s, Op))
    return next((op for op in ops if op.opdef.effect in _CROSS_FLAGS), None)
