"""Automatic order inside each core, the plain way: a full barrier between the user's statements."""

from __future__ import annotations

from tile_ir import OPS, For, Func, Op, Phase, Store, Target, While
from tile_ir.location import Loc
from tile_ir.machine import Memory, Pipe
from tile_ir.nodes import Body, Stmt
from tile_ir.opdef import Effect, pipe_of
from tile_ir.walk import bodies, loads, with_bodies
from tile_passes.passdef import ir_pass

SIGNALS = (Effect.SET_CROSS_FLAG, Effect.SYNC_ALL)


@ir_pass(needs=Phase.TYPED, opt_in=True)
def insert_barriers(func: Func, target: Target) -> Func:
    """Put `barrier_all` between any two statements of a core that touch memory.

    Needs, gives: TYPED. Idea: before operations are taken apart, since what is inside one orders
    itself; a barrier is left out where nothing ran since the last one; a loop's body begins as its
    end left things; other cores hear from this one when all before is done. Limits: no two pipes
    overlap; the two kinds of core are not ordered.
    """
    return func.with_body(_body(func.launch.body, False))


def _body(body: Body, busy: bool) -> Body:
    """The statements with barriers; `busy` says whether anything may be under way before them."""
    result: list[Stmt] = []
    changed = False
    for stmt in body:
        if _touches_memory(stmt):
            if busy:
                result.append(_barrier(stmt.loc))
                changed = True
            busy = True
        elif busy and isinstance(stmt, Op) and stmt.opdef.effect in SIGNALS:
            # A signal speaks for one pipe only, and another may still read or write gm.
            result.append(_barrier(stmt.loc))
            changed, busy = True, False
        new, busy = _inside(stmt, busy)
        changed = changed or new is not stmt
        result.append(new)
    return tuple(result) if changed else body


def _inside(stmt: Stmt, busy: bool) -> tuple[Stmt, bool]:
    """The statement with barriers inside it, and whether anything may be under way after it."""
    if isinstance(stmt, Op) and stmt.opdef.effect is Effect.BARRIER:
        return stmt, busy and pipe_of(stmt) is not Pipe.ALL
    inner = bodies(stmt)
    if not inner:
        return stmt, busy
    repeats = isinstance(stmt, (For, While)) and any(map(_works, inner))
    done = [_body(b, busy or repeats) for b in inner]
    if isinstance(stmt, While) and _reads_memory(stmt):
        # The condition is read again after every round.
        done = [(*b, _barrier(stmt.loc)) for b in done]
    return with_bodies(stmt, tuple(done)), busy or any(map(_works, inner))


def _works(body: Body) -> bool:
    return any(_touches_memory(s) or any(map(_works, bodies(s))) for s in body)


def _touches_memory(stmt: Stmt) -> bool:
    match stmt:
        case Op():
            return stmt.opdef.effect in (Effect.DATA, Effect.PRINT, Effect.DUMP)
        case Store(buffer=buffer) if buffer.memory is not Memory.VAR:
            return True
    return _reads_memory(stmt)


def _reads_memory(stmt: Stmt) -> bool:
    return any(load.buffer.memory is not Memory.VAR for load in loads(stmt))


def _barrier(loc: Loc) -> Op:
    return Op(OPS["barrier_all"], (), (), loc)
