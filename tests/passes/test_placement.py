"""The search finds every placement there is, and the quick ways none that is wrong."""

from __future__ import annotations

import itertools
import random

import pytest

from tile_passes.analysis.exact_placement import Task, search
from tile_passes.analysis.placement import Block, Blocks, Placement, Room, place


def random_blocks(rng: random.Random, count: int, times: int, size: int) -> Blocks:
    """Blocks needed in one or two intervals of time."""
    blocks = []
    for _ in range(count):
        marks = sorted(rng.sample(range(2 * times), rng.choice([2, 2, 4])))
        spans = tuple(zip(marks[::2], marks[1::2], strict=True))
        blocks.append(Block(rng.randint(1, size), spans))
    return Blocks(tuple(blocks))


def is_placement(blocks: Blocks, room: Room, addresses: tuple[int, ...]) -> bool:
    inside = all(
        any(low <= a and a + b.size <= high for low, high in room)
        for a, b in zip(addresses, blocks.blocks, strict=True)
    )
    meets, _ = blocks.meetings
    return inside and all(
        addresses[i] + blocks.blocks[i].size <= addresses[j]
        or addresses[j] + blocks.blocks[j].size <= addresses[i]
        for i in range(len(addresses))
        for j in meets[i]
    )


def meets_by_definition(blocks: Blocks) -> list[set[int]]:
    """Pairs of blocks with a time in both."""
    busy = [{t for low, high in b.spans for t in range(low, high + 1)} for b in blocks.blocks]
    return [{j for j in range(len(busy)) if j != i and busy[i] & busy[j]} for i in range(len(busy))]


def any_placement(blocks: Blocks, room: Room) -> bool:
    """By trying every address for every block."""
    sizes = [b.size for b in blocks.blocks]
    meets, _ = blocks.meetings
    addresses: list[int] = []

    def extend() -> bool:
        i = len(addresses)
        if i == len(sizes):
            return True
        for low, high in room:
            for address in range(low, high - sizes[i] + 1):
                if all(
                    address + sizes[i] <= addresses[j] or addresses[j] + sizes[j] <= address
                    for j in meets[i]
                    if j < i
                ):
                    addresses.append(address)
                    if extend():
                        return True
                    addresses.pop()
        return False

    return extend()


@pytest.mark.parametrize("gap", [False, True])
def test_a_placement_is_found_exactly_if_there_is_one(gap: bool) -> None:
    found, none = 0, 0
    for seed in range(300):
        rng = random.Random(seed)
        blocks = random_blocks(rng, rng.randint(3, 6), 4, 4)
        assert blocks.meetings[0] == meets_by_definition(blocks)
        bound = blocks.bound
        room: Room = ((0, bound),)
        if gap:
            cut = rng.randint(1, bound)
            room = ((0, cut), (cut + 2, bound + 2 + rng.randint(0, 2)))
        result = place(blocks, room, 100_000)
        assert result.certain
        if result.addresses is not None:
            assert is_placement(blocks, room, result.addresses), seed
        assert (result.addresses is not None) == any_placement(blocks, room), seed
        found += result.addresses is not None
        none += result.addresses is None
    assert found > 30 and none > 5


def test_the_search_is_right_alone() -> None:
    """Without the quick ways before it."""
    for seed in range(300):
        blocks = random_blocks(random.Random(seed), 6, 4, 4)
        meets, together = blocks.meetings
        room: Room = ((0, blocks.bound),)
        task = Task(
            tuple(b.size for b in blocks.blocks),
            tuple(tuple(sorted(m)) for m in meets),
            tuple(tuple(sorted(t)) for t in together),
            room,
        )
        outcome = search(task, 100_000)
        assert outcome.certain
        assert (outcome.addresses is not None) == any_placement(blocks, room), seed
        assert outcome.addresses is None or is_placement(blocks, room, outcome.addresses)


def outcomes() -> list[Placement]:
    result = []
    for seed in range(300):
        rng = random.Random(seed)
        count = rng.randint(8, 24)
        blocks = Blocks(
            tuple(
                Block(rng.randint(1, 40), ((start, start + rng.randint(0, 12)),))
                for start in (rng.randint(0, 30) for _ in range(count))
            )
        )
        result.append(place(blocks, ((0, blocks.bound),), 50_000))
    return result


def test_where_first_fit_fails_the_search_finds() -> None:
    """Blocks needed in one interval each, in room for what is needed at one time and no more."""
    ways = [(r.way, r.addresses is not None, r.certain) for r in outcomes()]
    searched = [w for w in ways if w[0] == "search"]
    assert any(found for _, found, _ in searched)
    assert sum(found for _, found, _ in ways) >= 0.98 * len(ways)


def test_no_blocks_and_no_room() -> None:
    assert place(Blocks(()), (), 10).addresses == ()
    one = Blocks((Block(1, ((0, 0),)),))
    assert place(one, (), 10).addresses is None
    assert place(one, ((3, 4),), 10).addresses == (3,)


def test_a_search_that_is_given_up_says_so() -> None:
    results = []
    for seed in itertools.count():
        blocks = random_blocks(random.Random(seed), 14, 8, 9)
        results.append(place(blocks, ((0, blocks.bound),), 3))
        if results[-1].way == "search" and results[-1].addresses is None:
            break
    assert not results[-1].certain and results[-1].steps > 3
