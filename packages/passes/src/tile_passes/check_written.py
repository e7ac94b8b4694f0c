"""Finds buffers that are read although nothing ever gives them a value, or may not have."""

from __future__ import annotations

import re

from tile_ir import (
    OPS,
    ZERO,
    Access,
    Alloc,
    Automatic,
    Buffer,
    Diagnostic,
    Effect,
    Func,
    KernelError,
    Memory,
    Op,
    Phase,
    Region,
    Store,
    Target,
    accesses,
    cast,
    generated,
    overwriting,
    walk,
    walk_ops,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.unwritten_parts import is_scattered, unwritten_parts
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, optional=True)
def check_written(func: Func, target: Target) -> Func:
    """Report the first use of an on-chip buffer that no statement of the kernel writes.

    Needs, gives: TYPED. Idea: every writing operation initialises its buffer, except one that
    accumulates, such as `gemm_v0` without `init`. Limits: the pass looks at whole buffers and not
    at the order of statements; the simulator reports late or partial writes. A buffer with a fixed
    address may be written through another name. Text for GPUs reads whole tiles that it writes in
    parts; the rest is zero, and a warning reports it.
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
                raise _never_written(op, buffer, _declared_name(buffer, func))
    return _filled(func) if Automatic.CORES in func.automatic else func


def _filled(func: Func) -> Func:
    """The function with zeros in tiles that may be read where nothing has written them."""
    tiles = unwritten_parts(func)
    if not tiles:
        return func
    fills = tuple(
        generated(Op(OPS["fill"], (Region.whole(t), cast(ZERO, t.dtype)), (), t.loc)) for t in tiles
    )
    new = func.with_body((*fills, *func.launch.body))
    told = (_partly_written(t) for t in tiles if not is_scattered(func.launch.body, t))
    return replace(new, remarks=(*new.remarks, *told))


def _partly_written(tile: Buffer) -> Diagnostic:
    return Diagnostic(
        "partly-written",
        f"`{tile.name}` may be read where nothing has written it: it holds zeros there",
        tile.loc,
        "fill it where the block begins, with what should count there",
        "warning",
    )


def _is_watched(alloc: Alloc) -> bool:
    return alloc.buffer.memory not in (Memory.VAR, Memory.GM) and alloc.address is None


def _gives(op: Op, access: Access) -> bool:
    """Whether an operation gives an operand a value, and does not only add to it."""
    return access.writes and not (access is Access.READ_WRITE and overwriting(op) is False)


def _declared_name(buffer: Buffer, func: Func) -> str:
    """The name in the source of a buffer that may be the part of a tile in another memory: the
    longest one at its declaration that the name of the buffer begins with."""
    lines = func.sources.get(buffer.loc.file, "").splitlines()
    declared = set(re.findall(r"\w+", "".join(lines[buffer.loc.line - 1 : buffer.loc.line])))
    beside = (a.buffer for a in func.launch.allocs if a.buffer.loc == buffer.loc)
    declared |= {other.name for other in beside if other is not buffer}
    words = buffer.name.split("_")
    parts = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((part for part in parts if part in declared), buffer.name)


def _never_written(op: Op, buffer: Buffer, name: str) -> KernelError:
    adds = any(r.buffer is buffer and a is Access.READ_WRITE for r, a in accesses(op))
    return KernelError(
        "never-written",
        f"this {'adds to' if adds else 'reads'} `{name}`, but nothing in the kernel gives it a "
        "first value",
        op.loc,
        f"write T.clear({name}) before the loop, or init=True or init=(k == 0); T.gemm calls it "
        "clear_accum="
        if adds and buffer.memory is Memory.L0C
        else f"copy something to it, or write T.clear({name}) first",
    )
