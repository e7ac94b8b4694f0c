"""Lets buffers that are not needed at the same time share bytes, where a memory is too small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tile_ir import Alloc, Automatic, Func, Memory, Phase, Target
from tile_ir.footprint import buffer_bytes, round_up
from tile_ir.walk import walk_ops
from tile_passes.analysis.first_fit import first_fit
from tile_passes.analysis.liveness import LiveRange, live_ranges
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, optional=True)
def share_memory(func: Func, target: Target) -> Func:
    """Give addresses to the buffers of a memory that cannot hold them side by side.

    Needs, gives: TYPED. Idea: live ranges on structured control flow; each buffer goes to fresh
    bytes while there are any, then to the lowest bytes free throughout its range; several orders
    are tried. Limits: addresses of the user stay and are taken as needed throughout; what does not
    fit is left to `plan_memory`, which reports it.
    """
    if Automatic.MEMORY not in func.automatic:
        return func
    ranges = _of_roots(func)
    placed: dict[Alloc, Alloc] = {}
    for memory in target.capacity:
        allocs = [a for a in func.launch.allocs if a.buffer.memory is memory and a.alias_of is None]
        room = target.capacity[memory] - _scratch_bytes(func, memory, target)
        placed.update(_placed(allocs, ranges, room, target.alignment[memory]))
    if not placed:
        return func
    new = tuple(placed.get(a, a) for a in func.launch.allocs)
    return replace(func, launch=replace(func.launch, allocs=new))


def _of_roots(func: Func) -> dict[object, LiveRange]:
    """Live ranges of buffers; one that has aliases lives as long as any of them."""
    ranges = live_ranges(func.launch.body)
    root = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs}
    result: dict[object, LiveRange] = {}
    for buffer, found in ranges.items():
        key = root.get(buffer, buffer)
        old = result.get(key, found)
        result[key] = LiveRange(min(old.first, found.first), max(old.last, found.last))
    return result


def _scratch_bytes(func: Func, memory: Memory, target: Target) -> int:
    """What operations will ask for besides: the most any one needs, as scratch is shared."""
    align = target.alignment[memory]
    return max(
        (
            sum(
                round_up(s.dtype.bytes_of(s.elements), align)
                for s in op.opdef.scratch(op)
                if s.memory is memory
            )
            for op in walk_ops(func.launch.body)
        ),
        default=0,
    )


Order = Callable[[Alloc], tuple[int, int]]


def _placed(
    allocs: Sequence[Alloc], ranges: dict[object, LiveRange], room: int, align: int
) -> dict[Alloc, Alloc]:
    """The allocations with addresses, or nothing if all fit side by side or no order makes them."""
    fixed = [a for a in allocs if a.address is not None]
    free = [a for a in allocs if a.address is None]
    side_by_side = sum(round_up(buffer_bytes(a), align) for a in free)
    behind = max((round_up((a.address or 0) + buffer_bytes(a), align) for a in fixed), default=0)
    if behind + side_by_side <= room:
        return {}
    nowhere = LiveRange(0, 0)

    def live(a: Alloc) -> LiveRange:
        return ranges.get(a.buffer, nowhere)

    by_start: Order = lambda a: (live(a).first, -buffer_bytes(a))  # noqa: E731
    by_size: Order = lambda a: (-buffer_bytes(a), live(a).first)  # noqa: E731
    by_span: Order = lambda a: (live(a).first - live(a).last, -buffer_bytes(a))  # noqa: E731
    for order, fresh_first in (
        (by_start, True),
        (by_size, True),
        (by_size, False),
        (by_start, False),
        (by_span, False),
    ):
        found = _fit(sorted(free, key=order), fixed, live, room, align, fresh_first)
        if found is not None:
            return {a: replace(a, address=address) for a, address in found.items()}
    return {}


def _fit(
    free: Sequence[Alloc],
    fixed: Sequence[Alloc],
    live: Callable[[Alloc], LiveRange],
    room: int,
    align: int,
    fresh_first: bool,
) -> dict[Alloc, int] | None:
    """First fit in this order; None if a buffer has no place."""
    result: dict[Alloc, int] = {}
    always = [_extent(f, f.address or 0) for f in fixed]
    for a in free:
        size = buffer_bytes(a)
        every = [*always, *(_extent(b, start) for b, start in result.items())]
        needed = [
            *always,
            *(_extent(b, start) for b, start in result.items() if live(b).meets(live(a))),
        ]
        address = first_fit(0, size, every, align) if fresh_first else None
        if address is None or address + size > room:
            address = first_fit(0, size, needed, align)
        if address + size > room:
            return None
        result[a] = address
    return result


def _extent(a: Alloc, address: int) -> tuple[int, int]:
    """First byte and end of a buffer at an address."""
    return address, address + buffer_bytes(a)
