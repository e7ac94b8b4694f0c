"""Gives every on-chip buffer its address: one after another, in order of allocation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tile_ir import Alloc, Func, KernelError, Memory, Phase, Target
from tile_ir.footprint import buffer_bytes, round_up
from tile_passes.analysis.first_fit import first_fit
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.LOWERED, gives=Phase.PLANNED)
def plan_memory(func: Func, target: Target) -> Func:
    """Lay buffers out linearly per memory; addresses the user fixed stay, and may overlap.

    Needs: LOWERED. Gives: PLANNED. Idea: first fit around the fixed buffers; an alias is where its
    buffer is; scratch lives for one
    operation only, so all of a memory's scratch starts at the same address behind the rest. Limits:
    no reuse of bytes after a buffer's last use.
    """
    placed: dict[Alloc, Alloc] = {}
    for memory in target.capacity:
        allocs = [a for a in func.launch.allocs if a.buffer.memory is memory and a.alias_of is None]
        placed.update(zip(allocs, _layout(allocs, memory, target), strict=True))
    address = {a.buffer: placed.get(a, a).address for a in func.launch.allocs}
    new = tuple(
        replace(a, address=address[a.alias_of]) if a.alias_of is not None else placed.get(a, a)
        for a in func.launch.allocs
    )
    return replace(func, launch=replace(func.launch, allocs=new))


def _layout(allocs: Sequence[Alloc], memory: Memory, target: Target) -> list[Alloc]:
    align = target.alignment[memory]
    taken = [(a.address, a.address + buffer_bytes(a)) for a in allocs if a.address is not None]
    result: dict[Alloc, Alloc] = {a: a for a in allocs if a.address is not None}
    cursor = 0
    for a in allocs:
        if a.address is None and not a.scratch:
            cursor = first_fit(cursor, buffer_bytes(a), taken, align)
            result[a] = replace(a, address=cursor)
            cursor += buffer_bytes(a)
    behind = round_up(max([cursor, *(end for _, end in taken)]), align)
    for a in allocs:
        if a.address is None and a.scratch:
            result[a] = replace(a, address=behind)
    ordered = [result[a] for a in allocs]
    _check_capacity(ordered, memory, target)
    return ordered


def _check_capacity(allocs: Sequence[Alloc], memory: Memory, target: Target) -> None:
    capacity = target.capacity[memory]
    ends = [(a.address or 0) + buffer_bytes(a) for a in allocs]
    over = next((a for a, end in zip(allocs, ends, strict=True) if end > capacity), None)
    if over is None:
        return
    width = max(len(a.buffer.name) for a in allocs)
    rows = [
        f"  {a.buffer.name:<{width}}  {buffer_bytes(a):>8} bytes at {a.address:>8}"
        f"  {a.buffer.dtype}{list(a.buffer.static_shape() or ())}  line {a.loc.line}"
        for a in allocs
    ]
    raise KernelError(
        "memory-overflow",
        f"{memory.value} needs {max(ends)} bytes, but has {capacity}; "
        f"`{over.buffer.name}` does not fit\n" + "\n".join(rows),
        over.loc,
        "make a tile smaller, or let buffers share bytes with T.annotate_address",
    )
