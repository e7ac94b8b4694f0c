"""Finds buffers that are read although nothing ever gives them a value."""

from __future__ import annotations

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
    Store,
    Target,
    accesses,
    overwriting,
    walk,
    walk_ops,
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
    written = {roots.get(s.buffer) for s in walk(body) if isinstance(s, Store)}
    written |= {
        roots.get(r.buffer) for op in walk_ops(body) for r, a in accesses(op) if _gives(op, a)
    }
    for op in walk_ops(body):
        for region, access in accesses(op) if op.opdef.effect is Effect.DATA else ():
            buffer = region.buffer
            if not _gives(op, access) and buffer in roots and roots[buffer] not in written:
                raise _never_written(op, buffer)
    return func


def _is_watched(alloc: Alloc) -> bool:
    return alloc.buffer.memory not in (Memory.VAR, Memory.GM) and alloc.address is None


def _gives(op: Op, access: Access) -> bool:
    """Whether an operation gives an operand a value, and does not only add to it."""
    return access.writes and not (access is Access.READ_WRITE and overwriting(op) is False)


def _never_written(op: Op, buffer: Buffer) -> KernelError:
    adds = any(r.buffer is buffer and a is Access.READ_WRITE for r, a in accesses(op))
    what = f"{op.opdef.name} adds to" if adds else "this reads"
    return KernelError(
        "never-written",
        f"{what} `{buffer.name}`, but nothing in the kernel gives it a first value",
        op.loc,
        "write init=True, or init=(k == 0) in a loop over k"
        if adds and buffer.memory is Memory.L0C
        else "copy something to it or fill it first",
    )
