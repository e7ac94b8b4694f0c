"""How many bytes of each memory a function needs at least, and how many its addresses take.

Buffers at an address of the user count all the time, since their bytes may have other names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tile_ir import Alloc, Func, Memory, Target, buffer_bytes, round_up
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.in_place import InPlacePair, in_place_pairs, places
from tile_passes.analysis.live_ranges import interfere, pressure, without_holes
from tile_passes.analysis.liveness import Liveness, liveness
from tile_passes.analysis.lowest_place import taken


@dataclass(frozen=True, slots=True)
class Peak:
    """The statement at which a memory is fullest: its number, the bytes, and the buffers that hold
    them."""

    point: int
    bytes: int
    together: tuple[Alloc, ...]


def memory_bound(func: Func, target: Target) -> dict[Memory, int]:
    """The most bytes needed at one time, for each memory the function uses: no plan takes less.
    Alignment counts; where an operation may write in place, one place counts for both buffers. A
    buffer that is written anew counts as free until then, though it comes back to the same bytes:
    there may be no plan of just this size."""
    live = liveness(func.launch.allocs, func.launch.body)
    return _bytes(live, in_place_pairs(live), target)


def memory_max_live(func: Func, target: Target) -> dict[Memory, int]:
    """The same with every buffer kept from its first need to its last, and nothing in place."""
    live = liveness(func.launch.allocs, func.launch.body)
    return _bytes(replace(live, ranges=tuple(map(without_holes, live.ranges))), (), target)


def _bytes(live: Liveness, pairs: Sequence[InPlacePair], target: Target) -> dict[Memory, int]:
    return {
        memory: peak(live, pairs, memory, target).bytes
        for memory in target.capacity
        if any(a.buffer.memory is memory for a in live.buffers)
    }


def memory_peak(func: Func) -> dict[Memory, int]:
    """Bytes up to the end of the last buffer of each memory; the function has addresses."""
    ends: dict[Memory, int] = {}
    for a in func.launch.allocs:
        if a.address is not None:
            end = a.address + buffer_bytes(a)
            ends[a.buffer.memory] = max(end, ends.get(a.buffer.memory, 0))
    return ends


def peak(live: Liveness, pairs: Sequence[InPlacePair], memory: Memory, target: Target) -> Peak:
    """The point where most bytes of a memory are needed together, and their buffers."""
    align = target.alignment[memory]
    here = {i: a for i, a in enumerate(live.buffers) if a.buffer.memory is memory}
    fixed = [
        (a.address, a.address + buffer_bytes(a)) for a in here.values() if a.address is not None
    ]
    always = sum(high - low for low, high in taken(fixed, align))
    sizes = {i: round_up(buffer_bytes(a), align) for i, a in here.items() if a.address is None}
    loads = pressure(live.ranges, sizes)
    for point, saved in _saved(live, pairs, sizes).items():
        loads[point] -= saved
    most = max(loads, default=0)
    point = loads.index(most) if loads else 0
    together = tuple(
        a
        for i, a in here.items()
        if a.address is not None or any(low <= point <= high for low, high in live.ranges[i])
    )
    return Peak(point, always + most, together)


def _saved(
    live: Liveness, pairs: Iterable[InPlacePair], sizes: Mapping[int, int]
) -> dict[int, int]:
    """The bytes that writing in place can save at each statement."""
    pairs = [c for c in pairs if c.source in sizes and c.result in sizes]
    allowed = places(pairs)
    best: dict[tuple[int, int], int] = {}
    for c in pairs:
        if not interfere(live.ranges[c.source], live.ranges[c.result], allowed[c.source, c.result]):
            saved = min(sizes[c.source], sizes[c.result])
            key = (c.point, c.result)
            best[key] = max(best.get(key, 0), saved)
    total: dict[int, int] = {}
    for (point, _), saved in best.items():
        total[point] = total.get(point, 0) + saved
    return total
