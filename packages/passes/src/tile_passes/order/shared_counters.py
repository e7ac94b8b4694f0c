"""Tell whether signals may share a counter: they are taken in the order in which they are set, and
the counter never passes its limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tile_ir import Pipe
from tile_passes.order.channels import Counter, Do, Place, Plan
from tile_passes.order.tree import Block, Item, Repeat

# How many signals a core may be ahead where nothing else holds it back, and how many credits: both
# together are what a counter holds at most.
AHEAD = 7


@dataclass(frozen=True, slots=True)
class Passage:
    """A signal is set, or awaited."""

    signal: Counter
    is_set: bool


@dataclass(frozen=True, slots=True)
class Ways:
    """What stands inside a branch, by the side that is taken, or in a loop, which goes round at
    most `rounds` times."""

    sides: tuple[tuple[Passed, ...], ...]
    rounds: int = 1


Passed: TypeAlias = Passage | Ways


def passed(signals: Iterable[Counter], root: Block, rounds: int) -> tuple[Passed, ...]:
    """Every set and wait of the signals that no loop carries, in the order of the text; loops go
    round at most `rounds` times."""
    return tuple(_in_block(Plan(s for s in signals if not s.carried), root, rounds))


def _in_block(plan: Plan, block: Block, rounds: int) -> Iterator[Passed]:
    for item in block.items:
        for behind in (False, True):
            for do, op in plan.gaps.get((block, item.position, behind), ()):
                assert isinstance(op, Counter), "cores have counters"
                yield Passage(op, do is Do.SET)
            if not behind and item.blocks:
                sides = tuple(tuple(_in_block(plan, inner, rounds)) for inner in item.blocks)
                if any(sides):
                    yield Ways(sides, _rounds(item, rounds))


def _rounds(item: Item, rounds: int) -> int:
    return int(min(item.most, rounds)) if isinstance(item, Repeat) else 1


def concerning(events: Sequence[Passed], kind: tuple[Place, Place, Pipe]) -> tuple[Passed, ...]:
    """The events of signals of a kind, and of those by which their source waits for their sink."""
    source, target, _ = kind
    found: list[Passed] = []
    for event in events:
        match event:
            case Passage(signal):
                if signal.kind == kind or signal.pair == (target, source):
                    found.append(event)
            case Ways(sides):
                inside = tuple(concerning(side, kind) for side in sides)
                if any(inside):
                    found.append(replace(event, sides=inside))
    return tuple(found)


@dataclass(slots=True)
class _Count:
    """How many signals of a counter were set and awaited so far, and how many of them the source
    knows to be taken; `told` are the signals back to the source that are under way, with what had
    been taken where they were set."""

    sets: int = 0
    waits: int = 0
    known: int = 0
    told: dict[Counter, int] = field(default_factory=dict)

    @property
    def ahead(self) -> int:
        return self.sets - self.known

    def copy(self) -> _Count:
        return _Count(self.sets, self.waits, self.known, {**self.told})


@dataclass(slots=True)
class _Sharing:
    """Follows the events of the members of one counter, as often as loops may go round."""

    members: frozenset[Counter]
    back: tuple[Place, Place]
    limit: int
    queue: deque[Counter] = field(default_factory=deque)

    def fits(self, events: Sequence[Passed], count: _Count) -> bool:
        """Whether all are taken in order and the limit is kept; what was passed is counted."""
        return all(
            self._event(e, count) if isinstance(e, Passage) else self._ways(e, count)
            for e in events
        )

    def _event(self, event: Passage, count: _Count) -> bool:
        signal = event.signal
        if signal not in self.members:
            if signal.pair != self.back:
                return True  # on another counter
            if event.is_set:
                count.told[signal] = count.waits
            else:
                count.known = max(count.known, count.told.get(signal, 0))
            return True
        if event.is_set:
            self.queue.append(signal)
            count.sets += 1
            return count.ahead <= self.limit
        count.waits += 1
        return bool(self.queue) and self.queue.popleft() is signal

    def _ways(self, ways: Ways, count: _Count) -> bool:
        ahead = count.ahead
        for number in range(ways.rounds):
            if not self._branch(ways, count):
                return False
            if number and count.ahead <= ahead:  # and so in all rounds to come
                break
            ahead = count.ahead
        return True

    def _branch(self, ways: Ways, count: _Count) -> bool:
        """Of several ways the one is gone on with that leaves most under way."""
        ends = []
        for side in ways.sides:
            end = count.copy()
            if not self.fits(side, end):
                return False
            ends.append(end)
        last = max(ends, key=lambda end: end.ahead)
        count.sets, count.waits, count.known = last.sets, last.waits, last.known
        count.told = last.told
        return True


def can_share(members: Iterable[Counter], events: Sequence[Passed], limit: int) -> bool:
    """Whether signals of one kind may be on one counter; by the events that concern it."""
    group = frozenset(members)
    kinds = {m.kind for m in group}
    if len(kinds) > 1 or any(m.carried for m in group):
        return False
    ((source, target, _),) = kinds
    return _Sharing(group, (target, source), limit).fits(events, _Count())
