"""Find which blocks of an earlier task a block waits for, as a formula of its number: a run of
groups of blocks that moves with the number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tile_ir import Const, Expr, maximum, minimum, simplify

# So many blocks add to one word at most: additions follow each other, and the race check of the
# simulator remembers the latest 16 of a word, which are those of two turns.
MOST_TOGETHER = 8
# More groups than this take longer to poll than all blocks in few groups.
MOST_GROUPS = 6


@dataclass(frozen=True, slots=True)
class BlockWindow:
    """A block `n` of a task waits for blocks [first, first + width) of an earlier one, cut to those
    that exist. `first` is `n // every * step + start`, and `last - n` stands for `n` in a window
    that moves back. `size` earlier blocks share a word."""

    size: int
    start: int
    width: int
    every: int = 1
    step: int = 0
    last: int | None = None

    def first(self, number: int) -> int:
        n = number if self.last is None else self.last - number
        return n // self.every * self.step + self.start

    def blocks(self, number: int, tellers: int) -> frozenset[int]:
        """Those that block `number` waits for, of so many."""
        first = self.first(number)
        return frozenset(range(max(0, first), min(tellers, first + self.width)))

    def groups(self, number: Expr, numbers: int, tellers: int) -> tuple[Expr, Expr]:
        """The first group and the one behind the last, for a block with one of so many numbers."""
        n = number if self.last is None else self.last - number
        ends = sorted((self.first(0), self.first(numbers - 1)))
        first = n // self.every * (self.step // self.size) + self.start // self.size
        behind = first + self.width // self.size
        if ends[0] < 0:
            first = maximum(first, Const(0))
        if ends[-1] + self.width > tellers:
            behind = minimum(behind, Const(-(-tellers // self.size)))
        return simplify(first), simplify(behind)

    def count(self, group: Expr, tellers: int) -> Expr:
        """The number of blocks of a group."""
        if tellers % self.size == 0:
            return Const(self.size)
        return simplify(minimum(Const(self.size), tellers - group * self.size))


def whole(tellers: int) -> BlockWindow:
    """A window that holds all blocks."""
    words = -(-tellers // MOST_TOGETHER)
    size = -(-tellers // words)
    return BlockWindow(size, 0, words * size)


def window_of(needs: Sequence[frozenset[int]], tellers: int) -> BlockWindow:
    """The narrowest window that holds, for each block of a task, the earlier blocks it needs."""
    found = min(_windows(needs), key=lambda w: (_looked_at(w, needs, tellers), w.step, w.every))
    all_of_them = whole(tellers)
    narrow = 2 * _looked_at(found, needs, tellers) <= _looked_at(all_of_them, needs, tellers)
    return found if narrow and found.width <= MOST_GROUPS * found.size else all_of_them


def _looked_at(window: BlockWindow, needs: Sequence[frozenset[int]], tellers: int) -> int:
    return sum(len(window.blocks(n, tellers)) for n in range(len(needs)))


def _windows(needs: Sequence[frozenset[int]]) -> Iterator[BlockWindow]:
    """One for each way to move that fits the first and the last block that waits."""
    waiting = [n for n, need in enumerate(needs) if need]
    for last in (None, len(needs) - 1):
        for every in range(1, len(needs) + 1):
            turns = [(n if last is None else last - n) // every for n in waiting]
            ends = sorted((t, min(needs[n])) for t, n in zip(turns, waiting, strict=True))
            (low, first), (high, end) = ends[0], ends[-1]
            way, count = max(0, end - first), max(1, high - low)
            for step in {0, way // count, -(-way // count)}:
                starts = [min(needs[n]) - t * step for t, n in zip(turns, waiting, strict=True)]
                stops = [max(needs[n]) + 1 - t * step for t, n in zip(turns, waiting, strict=True)]
                start, stop = min(starts), max(stops)
                size = math.gcd(step, start, stop - start)
                size = max(s for s in range(1, MOST_TOGETHER + 1) if size % s == 0)
                yield BlockWindow(size, start, stop - start, every, step, last)
