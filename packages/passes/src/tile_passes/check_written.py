"""Finds buffers that are read although nothing ever gives them a value."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    Access,
    Alloc,
    Buffer,
    Effect,
    Func,
    KernelError,
    Memory,
    Op,
    Phase,
    Stmt,
    Store,
    Target,
    accesses,
    overwriting,
    walk,
)
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, optional=True)
def check_written(func: Func, target: Target) -> Func:
    """Report the first use of an on-chip buffer that no statement of the kernel writes.

    Needs, gives: TYPED; changes nothing. Idea: an operation that accumulates, such as `gemm_v0`
    without `init`, gives no first value; everything else that writes does. Limits: looks at
    operands of operations, at whole buffers and not at the order of statements; what is written
    too late, or in part, is found when the kernel runs. Buffers at an address the kernel chose may
    be written through another name.
    """
    roots = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs if _is_watched(a)}
    body = func.launch.body
    written = {roots.get(b) for stmt in walk(body) for b in _written(stmt)}
    for stmt in walk(body):
        for buffer in _read(stmt):
            if buffer in roots and roots[buffer] not in written:
                raise _never_written(stmt, buffer)
    return func


def _is_watched(alloc: Alloc) -> bool:
    return alloc.buffer.memory not in (Memory.VAR, Memory.GM) and alloc.address is None


def _written(stmt: Stmt) -> Iterator[Buffer]:
    match stmt:
        case Store(buffer=buffer):
            yield buffer
        case Op():
            for region, access in accesses(stmt):
                adds = access is Access.READ_WRITE and overwriting(stmt) is False
                if access.writes and not adds:
                    yield region.buffer


def _read(stmt: Stmt) -> Iterator[Buffer]:
    if isinstance(stmt, Op) and stmt.opdef.effect is Effect.DATA:
        for region, access in accesses(stmt):
            adds = access is Access.READ_WRITE and overwriting(stmt) is False
            if access is Access.READ or adds:
                yield region.buffer


def _never_written(stmt: Stmt, buffer: Buffer) -> KernelError:
    adds = isinstance(stmt, Op) and any(
        r.buffer is buffer and a is Access.READ_WRITE for r, a in accesses(stmt)
    )
    what = f"{stmt.opdef.name} adds to" if adds and isinstance(stmt, Op) else "this reads"
    return KernelError(
        "never-written",
        f"{what} `{buffer.name}`, but nothing in the kernel gives it a first value",
        stmt.loc,
        "write init=True, or init=(k == 0) in a loop over k"
        if adds and buffer.memory is Memory.L0C
        else "copy something to it or fill it first",
    )
