"""Where in a memory blocks go that are needed at known times: quick ways first, then a search that
finds a placement if there is one. Knows nothing of buffers and statements.

Sizes and addresses are in units of the memory's alignment. Blocks that are needed at the same time
must not share a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tile_passes.analysis.exact_placement import Task, search

Room = tuple[tuple[int, int], ...]
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Some units, needed in intervals of time with both ends included."""

    size: int
    spans: Spans


def unbroken(spans: Spans) -> Spans:
    """From the first time to the last."""
    return ((spans[0][0], spans[-1][1]),) if spans else ()


@dataclass(frozen=True)
class Blocks:
    """Blocks, and which of them are needed at the same time. Those of a pair in `apart` share no
    unit whenever they are needed."""

    blocks: tuple[Block, ...]
    apart: frozenset[tuple[int, int]] = frozenset()

    @cached_property
    def meetings(self) -> tuple[list[set[int]], list[frozenset[int]]]:
        """For each block those it meets, and the largest sets that are needed together."""
        events = sorted(
            (when, ends, number)
            for number, b in enumerate(self.blocks)
            for start, end in b.spans
            for when, ends in ((start, False), (end + 1, True))
        )
        # At one time, what ends goes before what starts.
        events.sort(key=lambda e: (e[0], not e[1]))
        meets: list[set[int]] = [set() for _ in self.blocks]
        together: list[frozenset[int]] = []
        active: set[int] = set()
        grown = False
        for _, ends, number in events:
            if ends:
                if grown:
                    together.append(frozenset(active))
                    grown = False
                active.discard(number)
            else:
                for other in active:
                    meets[other].add(number)
                meets[number] |= active
                active.add(number)
                grown = True
        for one, other in sorted(self.apart):
            if other not in meets[one]:
                meets[one].add(other)
                meets[other].add(one)
                together.append(frozenset((one, other)))
        return meets, list(dict.fromkeys(together))

    @cached_property
    def bound(self) -> int:
        """The most units needed at one time: no placement takes less."""
        return max((sum(self.blocks[i].size for i in t) for t in self.meetings[1]), default=0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Addresses of the blocks, or None; how it was found, and how many steps a search took. Not
    `certain` means that the search was given up."""

    addresses: tuple[int, ...] | None
    way: str
    steps: int = 0
    certain: bool = True


def place(blocks: Blocks, room: Room, limit: int) -> Placement:
    """A placement inside the free intervals `room`, ascending; `limit` is how many steps a search
    may take for the blocks that depend on each other."""
    if blocks.bound > sum(high - low for low, high in room):
        return Placement(None, "bound")
    for fresh_first in (True, False):
        for order in _ORDERS:
            found = _first_fit(blocks, range(len(blocks.blocks)), room, order, fresh_first)
            if found is not None:
                return Placement(tuple(found[i] for i in range(len(found))), "first fit")
    # Blocks without gaps in their times are the easier ones.
    unbroken_blocks = tuple(Block(b.size, unbroken(b.spans)) for b in blocks.blocks)
    kept = Blocks(unbroken_blocks, blocks.apart)
    for order in _ORDERS:
        found = _first_fit(kept, range(len(kept.blocks)), room, order, fresh_first=False)
        if found is not None:
            return Placement(tuple(found[i] for i in range(len(found))), "first fit")
    return _by_parts(blocks, room, limit)


def _by_parts(blocks: Blocks, room: Room, limit: int) -> Placement:
    """Each set of blocks that depend on each other for itself."""
    addresses: dict[int, int] = {}
    steps = 0
    for part in _parts(blocks):
        found = next(
            (f for o in _ORDERS if (f := _first_fit(blocks, part, room, o, False))),
            None,
        )
        if found is None:
            outcome = search(_task(blocks, part, room), limit)
            steps += outcome.steps
            if outcome.addresses is None:
                return Placement(None, "search", steps, outcome.certain)
            found = dict(zip(part, outcome.addresses, strict=True))
        addresses.update(found)
    return Placement(tuple(addresses[i] for i in range(len(addresses))), "search", steps)


def _parts(blocks: Blocks) -> list[list[int]]:
    meets, _ = blocks.meetings
    seen: set[int] = set()
    parts = []
    for first in range(len(meets)):
        if first in seen:
            continue
        part, todo = [], [first]
        seen.add(first)
        while todo:
            number = todo.pop()
            part.append(number)
            fresh = meets[number] - seen
            seen |= fresh
            todo.extend(sorted(fresh))
        parts.append(sorted(part))
    return parts


def _task(blocks: Blocks, part: Sequence[int], room: Room) -> Task:
    meets, together = blocks.meetings
    new = {old: i for i, old in enumerate(part)}
    return Task(
        tuple(blocks.blocks[i].size for i in part),
        tuple(tuple(sorted(new[j] for j in meets[i])) for i in part),
        tuple(tuple(sorted(new[i] for i in t)) for t in together if not t.isdisjoint(new)),
        room,
    )


Order = Callable[[Block], tuple[int, int]]


def _length(block: Block) -> int:
    return sum(end - start for start, end in block.spans)


# What to place first. Blocks as they come make few sharers, large ones little waste.
_ORDERS: tuple[Order, ...] = (
    lambda b: (b.spans[0][0] if b.spans else 0, -b.size),
    lambda b: (-b.size, b.spans[0][0] if b.spans else 0),
    lambda b: (-_length(b), -b.size),
    lambda b: (-_length(b) * b.size, -b.size),
)


def _first_fit(
    blocks: Blocks, numbers: Iterable[int], room: Room, order: Order, fresh_first: bool
) -> dict[int, int] | None:
    """Lowest address free of what a block meets, one block after the other; units that nobody has
    used yet come first if asked. None if a block has no place."""
    meets, _ = blocks.meetings
    result: dict[int, int] = {}
    top = 0
    for number in sorted(numbers, key=lambda i: order(blocks.blocks[i])):
        size = blocks.blocks[number].size
        address = fit(room, top, size) if fresh_first else None
        if address is None:
            taken = sorted(
                (result[m], result[m] + blocks.blocks[m].size) for m in meets[number] if m in result
            )
            address = _lowest(room, size, taken)
        if address is None:
            return None
        result[number] = address
        top = max(top, address + size)
    return result


def _lowest(room: Room, size: int, taken: list[tuple[int, int]]) -> int | None:
    address = fit(room, 0, size)
    for low, high in taken:
        if address is None or low >= address + size:
            break
        if address < high:
            address = fit(room, high, size)
            # A step over a gap of the room may pass blocks that come later; they are looked at.
    return address


def fit(room: Room, start: int, size: int) -> int | None:
    """The lowest address from `start` with `size` units of room."""
    for low, high in room:
        address = max(low, start)
        if address + size <= high:
            return address
    return None
