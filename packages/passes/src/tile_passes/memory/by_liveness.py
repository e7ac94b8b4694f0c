"""Addresses in a memory too small for its buffers side by side: those never needed at the same time
share bytes, and where that is not enough, operations write in place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tile_ir import Alloc, Memory, Target
from tile_ir.footprint import buffer_bytes, round_up
from tile_passes.analysis.in_place import Reuse, places
from tile_passes.analysis.liveness import Liveness
from tile_passes.analysis.memory_use import loads_by_point, taken
from tile_passes.analysis.placement import Block, Blocks, Placement, Room, place
from tile_passes.analysis.runs import Spans

# Steps of a search; a hard case comes once all ways to write in place had the short one.
SHORT_SEARCH = 10_000
LONG_SEARCH = 300_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Addresses of one memory's buffers, or None; not `certain` if the search was given up."""

    addresses: dict[Alloc, int] | None
    certain: bool = True


# Two buffers, by number.
Pair = tuple[int, int]


def plan_by_liveness(
    live: Liveness,
    chances: Callable[[], Sequence[Reuse]],
    memory: Memory,
    target: Target,
    apart: Collection[Pair] = (),
) -> Plan:
    """Addresses for the buffers of a memory that have none; `chances` is asked only if operations
    have to write in place. The two of a pair in `apart`, the lower number first, share nothing: a
    wish, for which no long search is made."""
    align = target.alignment[memory]
    here = [i for i, a in enumerate(live.buffers) if a.buffer.memory is memory]
    free = [i for i in here if live.buffers[i].address is None]
    sizes = {i: max(round_up(buffer_bytes(live.buffers[i]), align), align) for i in free}
    room = _room([live.buffers[i] for i in here], align, target.capacity[memory])
    bytes_free = sum(high - low for low, high in room) * align
    hard: list[tuple[list[list[int]], Blocks]] = []
    for groups in _groupings(live, chances, sizes, bytes_free):
        if apart and _inside_a_group(groups, apart):
            continue
        blocks = _blocks(groups, live.spans, sizes, align, apart)
        found = place(blocks, room, SHORT_SEARCH)
        if found.addresses is not None:
            return Plan(_addresses(groups, found, live, align))
        if not found.certain:
            hard.append((groups, blocks))
    for groups, blocks in [] if apart else hard:
        found = place(blocks, room, LONG_SEARCH)
        if found.addresses is not None:
            return Plan(_addresses(groups, found, live, align))
        if not found.certain:
            return Plan(None, False)
    return Plan(None)


def _room(allocs: Sequence[Alloc], align: int, capacity: int) -> Room:
    """The units between the buffers that have an address."""
    room = []
    start = 0
    for low, high in (*taken(allocs, align), (capacity, capacity)):
        if low > start:
            room.append((start // align, low // align))
        start = max(start, high)
    return tuple(room)


def _addresses(
    groups: list[list[int]], found: Placement, live: Liveness, align: int
) -> dict[Alloc, int]:
    assert found.addresses is not None
    return {
        live.buffers[i]: address * align
        for group, address in zip(groups, found.addresses, strict=True)
        for i in group
    }


def _inside_a_group(groups: list[list[int]], apart: Collection[Pair]) -> bool:
    return any((a, b) in apart for g in groups for i, a in enumerate(g) for b in g[i + 1 :])


def _blocks(
    groups: list[list[int]],
    spans: Sequence[Spans],
    sizes: Mapping[int, int],
    align: int,
    apart: Collection[Pair],
) -> Blocks:
    group_of = {i: number for number, g in enumerate(groups) for i in g}
    pairs = ((group_of[a], group_of[b]) for a, b in apart if a in group_of and b in group_of)
    return Blocks(
        tuple(
            Block(max(sizes[i] for i in g) // align, _joined([s for i in g for s in spans[i]]))
            for g in groups
        ),
        frozenset((min(p), max(p)) for p in pairs),
    )


def _joined(spans: list[tuple[int, int]]) -> Spans:
    """Separate intervals, ascending."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if result and low <= result[-1][1] + 1:
            result[-1] = result[-1][0], max(high, result[-1][1])
        else:
            result.append((low, high))
    return tuple(result)


def _groupings(
    live: Liveness, chances: Callable[[], Sequence[Reuse]], sizes: Mapping[int, int], room: int
) -> Iterator[list[list[int]]]:
    """Which buffers lie on the same bytes though one operation touches both: none of them, only
    where there is no room otherwise, all that can; first the first operands, then the last."""
    apart = [[i] for i in sizes]
    yield apart
    possible = [c for c in chances() if c.source in sizes and c.result in sizes]
    loads = loads_by_point(live, sizes)
    tried = [apart]
    for needed_only, last_first in ((True, False), (True, True), (False, False)):
        order = possible[::-1] if last_first else possible
        groups = _grouped(live, order, sizes, list(loads), room if needed_only else -1)
        if groups not in tried:
            tried.append(groups)
            yield groups


def _grouped(
    live: Liveness, chances: Sequence[Reuse], sizes: Mapping[int, int], loads: list[int], room: int
) -> list[list[int]]:
    """Join buffers at the statements that need more than there is room."""
    group = {i: [i] for i in sizes}
    allowed = places(chances)
    for c in sorted(chances, key=lambda c: -loads[c.point]):
        first, second = group[c.source], group[c.result]
        if loads[c.point] <= room or first is second:
            continue
        if all(live.meet_only_at(a, b, allowed.get((a, b), ())) for a in first for b in second):
            loads[c.point] -= min(sizes[c.source], sizes[c.result])
            first += second
            for i in second:
                group[i] = first
    return [sorted(g) for i, g in group.items() if i == min(g)]
