"""Linear scan without live ranges: buffers one behind the other, in order of allocation, around
those the user placed. Nothing is known here of when a buffer is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tile_ir import Alloc, Memory, Target, buffer_bytes, round_up
from tile_passes.analysis.lowest_place import Bytes, gaps, lowest_place
from tile_passes.memory.bank_starts import ALL_GROUPS

Addresses = dict[Alloc, int]


def side_by_side(
    allocs: Sequence[Alloc],
    align: int,
    scratch_apart: bool,
    starts: Mapping[Alloc, int] | None = None,
) -> Addresses:
    """Addresses of one memory's buffers, of any size together; scratch comes behind everything
    else.

    Unless it is to lie `scratch_apart`, all of it starts at one address: each operation is done
    with its scratch before the next one starts. Buffers with a place in `starts` begin so many
    bytes behind a multiple of `ALL_GROUPS`.
    """
    starts = {} if starts is None else starts
    result = {a: a.address for a in allocs if a.address is not None}
    fixed = [(start, start + buffer_bytes(a)) for a, start in result.items()]
    # Behind what is placed there is room for the rest, also for what has no bytes.
    ends = [round_up(end, align) for _, end in fixed]
    rest = sum(round_up(buffer_bytes(a), align) for a in allocs)
    rest += ALL_GROUPS * len(starts)
    room = gaps(fixed, align, max(ends, default=0) + rest + align)
    cursor = 0
    for a in allocs:
        if a.address is None and not a.scratch:
            result[a] = place = _place(room, buffer_bytes(a), cursor, starts.get(a))
            cursor = round_up(place + buffer_bytes(a), align)
    behind = max([cursor, *ends])
    for a in allocs:
        if a.address is None and a.scratch:
            result[a] = _place(room, buffer_bytes(a), behind, starts.get(a))
            if scratch_apart:
                behind = round_up(result[a] + buffer_bytes(a), align)
    return result


def _place(room: Sequence[Bytes], size: int, cursor: int, start: int | None) -> int:
    """The lowest place that the buffer may begin at."""
    while True:
        found = lowest_place(room, size, cursor)
        assert found is not None, "the last gap holds them all"
        if start is None or found % ALL_GROUPS == start:
            return found
        cursor = found + (start - found) % ALL_GROUPS


def fit_side_by_side(
    allocs: Iterable[Alloc], memory: Memory, target: Target, scratch_apart: bool
) -> bool:
    """Whether one memory has room for all of its buffers at once."""
    mine = [a for a in allocs if a.buffer.memory is memory and a.alias_of is None]
    placed = side_by_side(mine, target.alignment[memory], scratch_apart)
    return end_of(placed) <= target.capacity[memory]


def end_of(addresses: Addresses) -> int:
    """The first byte behind all of them."""
    return max((start + buffer_bytes(a) for a, start in addresses.items()), default=0)
