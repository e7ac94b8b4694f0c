"""Represent the order of two pipes, or of one with itself, its place in the tree, and the plan.

Each kind is balanced by itself: whatever path is taken through the section, every set is waited
for once, so that sync ops can be added and taken away one by one. Where they go is in `place`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from enum import IntEnum
from functools import cached_property
from typing import TypeAlias, TypeVar

from tile_ir import Break, Core, Pipe
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.order.core_dependences import CoreDependence
from tile_passes.order.dependence_graph import Edge
from tile_passes.order.tree import Block, Branch, Item

Place: TypeAlias = Pipe | Core
Pair: TypeAlias = tuple[Place, Place]
# A gap of a block: behind an item, or before it.
PlanGap: TypeAlias = tuple[Block, int, bool]

F = TypeVar("F", bound="Flag")

# More ids are not spent on one flag of fewer slots. With four, running moments took 939 us for 380.
MOST_TURNS = 8


@dataclass(frozen=True, slots=True)
class Reason:
    """The edges of the reduced graph that an op was placed for; `earlier` and `later` are the ends
    of the first. No edges: it keeps flags from `earlier` to `later` from being set while they are
    set. `why` says what kept it from being a plain flag or barrier."""

    earlier: Item
    later: Item
    edges: tuple[Edge, ...] = ()
    why: str = ""


class Do(IntEnum):
    """One instruction of a sync op, in the order they take between two items (`_rank` says where a
    set and wait at one place comes). PRIME and DRAIN stand around a loop."""

    SET = 1
    DRAIN = 2
    WAIT = 3
    BARRIER = 5
    PRIME = 6

    @property
    def sets(self) -> bool:
        return self in (Do.SET, Do.PRIME)

    @property
    def around(self) -> bool:
        return self in (Do.PRIME, Do.DRAIN)


@dataclass(frozen=True, slots=True)
class Flag:
    """`target` waits before one item of a block for what `source` has done up to another.

    `distance` 0: the set comes first and the wait follows in the same iteration. Otherwise the wait
    of an iteration takes the set of `distance` iterations before. As many flags are raised before
    the loop, and taken back after it; that is the outermost loop, unless the flag is `local`.
    `slots` event ids are used in turn, by the variable of the loop; no change of the plan gives it
    more than `most`. With a `turn` it is set and awaited back to back (`point_to_point`). Several
    that are `shared` are one flag, which loops in a row take in turn (`share_flags`).
    """

    source: Place
    target: Place
    block: Block
    set_after: int
    wait_before: int
    distance: int
    slots: int
    reason: Reason = field(compare=False)
    local: bool = False
    most: int = MOST_TURNS
    behind: bool = False
    turn: int | None = None
    shared: bool = False

    def __hash__(self) -> int:
        """Hash the fields that distinguish most of them: plans look them up again and again."""
        return hash((self.source, self.block, self.set_after, self.wait_before))

    @property
    def pair(self) -> Pair:
        return self.source, self.target

    @property
    def identity(self) -> object:
        """The owner of its event ids: itself, or all flags that it is one with."""
        if not self.shared:
            return self
        return self.pair, self.slots, self.home(), tuple(self.turns(Do.PRIME))

    @property
    def carried(self) -> bool:
        return self.distance > 0

    @property
    def room(self) -> int:
        """How many of it may be set at once."""
        return self.slots

    @property
    def set_first(self) -> bool:
        """Whether an iteration sets it before it waits. Then `distance` is less than `slots`, but
        for a counter: or the iteration would set the flag of a slot that is still set."""
        return self.set_after < self.wait_before

    @property
    def at_once(self) -> PlanGap | None:
        """Where it is set and awaited back to back, if it is."""
        if self.turn is None:
            return None
        return self.block, self.set_after if self.behind else self.wait_before, self.behind

    @property
    def by_slot(self) -> bool:
        """Whether each iteration takes and gives back the flag of its own slot, so that it does not
        matter which iterations there are: such flags may be raised once for all loops around."""
        return self.distance == self.slots

    def can_join(self, other: Flag) -> bool:
        """Whether one flag may stand for both: both are set before either is awaited."""
        alike = self.block is other.block and self.carried == other.carried
        return alike and (self.carried or self.joined(other).set_first)

    def joined(self: F, other: Flag) -> F:
        """Return both as one: set at the later place and awaited at the earlier."""
        return replace(
            self,
            set_after=max(self.set_after, other.set_after),
            wait_before=min(self.wait_before, other.wait_before),
            distance=min(self.distance, other.distance),
            slots=min(self.slots, other.slots),
            local=self.local and other.local,
        )

    def turns(self, do: Do, turn: int = 0) -> Sequence[int]:
        """The turns of which flags are set or awaited in an iteration of this turn, or around a
        loop whose first iteration has it: by slot, those that its iterations come to."""
        loop = self.block.loop
        if not do.around:
            return (turn + self.distance if do.sets else turn,)
        if self.by_slot and loop is not None:
            return sorted({t % self.slots for t in loop.turns})
        return range(turn, turn + self.distance)

    def home(self) -> Item:
        """The loop before which the flags of a carried one are raised."""
        loops = [*self.block.loops()]
        return loops[-1] if self.by_slot and not self.local else loops[0]


@dataclass(frozen=True, slots=True)
class Counter(Flag):
    """A signal between cores: set when the earlier work of one `pipe` of the source is complete.
    Sets add to a counter, so that it needs no slots. `covers` are the dependences it is for."""

    pipe: Pipe = Pipe.ALL
    covers: tuple[CoreDependence, ...] = field(default=(), compare=False)

    @property
    def kind(self) -> tuple[Place, Place, Pipe]:
        return self.source, self.target, self.pipe

    @property
    def room(self) -> int:
        return self.distance + 2

    def turns(self, do: Do, turn: int = 0) -> Sequence[int]:
        """The same in every iteration: a counter has no slots."""
        return range(self.distance if do.around else 1)

    def home(self) -> Item:
        """The loop around which credits are set and awaited; for a single credit what is around
        everything, since the last one of a run is as good as the first of the next."""
        owners = [b.owner for b in self.block.outward() if b.owner is not None]
        return next(self.block.loops()) if self.local else owners[-1]


def point_to_point(
    source: Place, target: Place, gap: PlanGap, reason: Reason, turn: int = 0
) -> Flag:
    """Set and wait back to back: `target` waits for all `source` was given so far. Of several at
    one place that with the lower `turn` comes first."""
    block, position, behind = gap
    first = position if behind else position - 1
    return Flag(source, target, block, first, first + 1, 0, 1, reason, behind=behind, turn=turn)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Later work of a pipe waits for its earlier work; ALL stands for every pipe. It stands before
    an item, or at the end of its block."""

    pipe: Pipe
    block: Block
    position: int
    reason: Reason = field(compare=False)


SyncOp: TypeAlias = Flag | Barrier
Action: TypeAlias = tuple[Do, SyncOp]
# The position of the gaps before and behind a loop in which it matters which iterations it has.
AROUND = -1


class Plan:
    """The sync ops of a section, each once and in the order in which they were placed, and which
    instructions stand in each gap. `closed`: pairs of pipes for which no event ids are left."""

    def __init__(self, ops: Iterable[SyncOp] = (), closed: frozenset[Pair] = frozenset()) -> None:
        self.ops = tuple(dict.fromkeys(ops))
        self.closed = closed

    @cached_property
    def gaps(self) -> dict[PlanGap, list[Action]]:
        """The actions in each gap, computed at the first use: many plans are intermediate ones."""
        found: dict[PlanGap, dict[object, Action]] = {}
        for op in self.ops:
            for gap, do in _instructions(op):
                what = op.identity if do.around and isinstance(op, Flag) else op
                found.setdefault(gap, {}).setdefault((do, what), (do, op))
        return {gap: sorted(actions.values(), key=_rank) for gap, actions in found.items()}

    @property
    def flags(self) -> Iterator[Flag]:
        """The ops that have event ids."""
        return (op for op in self.ops if isinstance(op, Flag))

    def at(self, block: Block, position: int, behind: bool) -> Sequence[Action]:
        """The actions behind an item, or before it or at the end of the block. A break takes the
        flags in flight, or gives them back."""
        found = self.gaps.get((block, position, behind), ())
        if behind or not 0 <= position < len(block.items):
            return found
        item = block.items[position]
        return [*found, *self._at_break(item)] if isinstance(item.stmt, Break) else found

    def with_ops(self, *ops: SyncOp, closed: Iterable[Pair] = ()) -> Plan:
        return Plan((*self.ops, *ops), self.closed | frozenset(closed))

    def without(self, *ops: SyncOp) -> Plan:
        gone = set(ops)
        return Plan((op for op in self.ops if op not in gone), self.closed)

    def _at_break(self, item: Item) -> Iterator[Action]:
        given: list[Action] = []
        place: Item | None = item
        while place is not None:
            for op in self.flags:
                if op.block is not place.block:
                    continue
                is_set, awaited = op.set_after < place.position, op.wait_before <= place.position
                if is_set and not awaited and (not op.carried or isinstance(op, Counter)):
                    yield Do.WAIT, op
                elif awaited and not is_set:
                    given.append((Do.SET, op))
            owner = place.block.owner
            place = owner if isinstance(owner, Branch) else None
        yield from given


def _rank(action: Action) -> tuple[int, int]:
    """Orders the actions of a gap. A set and wait comes first behind an item, and between waits and
    barriers before one; the credits of a core come before it waits."""
    do, op = action
    if isinstance(op, Flag) and op.turn is not None:
        return 0 if op.behind else Do.WAIT + 1, op.turn
    return -1 if isinstance(op, Counter) and do is Do.PRIME else do, 0


def _instructions(op: SyncOp) -> Iterator[tuple[PlanGap, Do]]:
    match op:
        case Flag(at_once=(_, _, _) as gap):
            yield gap, Do.SET
            yield gap, Do.WAIT
        case Flag(block=block):
            yield (block, op.set_after, True), Do.SET
            yield (block, op.wait_before, False), Do.WAIT
            if op.carried:
                home = op.home()
                place = (home.block, home.position) if op.by_slot else (block, AROUND)
                # Credits before all work: the other core does not wait for what precedes the loop.
                early = isinstance(op, Counter) and home.block.owner is None
                yield (*((home.block, 0) if early else place), False), Do.PRIME
                yield (*place, True), Do.DRAIN
        case Barrier():
            yield (op.block, op.position, False), Do.BARRIER
