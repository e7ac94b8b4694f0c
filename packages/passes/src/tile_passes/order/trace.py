"""The program followed with some rounds of every loop: where signals are set and awaited on the
way, and what must be complete where. The same whichever of the signals there are: what each choice
of them tells is found along one trace (`completion`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import Break, Core, Effect, For, If, Var
from tile_ir.analysis import Interval, Ranges, interval, trip_count
from tile_passes.order.core_blocks import CORES, Block, Leaf
from tile_passes.order.core_dependences import Dependence
from tile_passes.order.counters import Signal, open_signals
from tile_passes.order.own_work import Groups, OnChip, OwnWork

# From so many rounds on a loop is steady, but for what it carries over more of them.
STEADY = 3
Rounds = tuple[tuple[int, int], ...]  # (id of a loop's block, round), outermost first


class Set(NamedTuple):
    """A signal is set; `complete` is what its source has done and is complete then."""

    signal: Signal
    complete: int


class Wait(NamedTuple):
    signal: Signal


class Ask(NamedTuple):
    """The sink of a dependence goes on: `bits` must be complete."""

    dependence: Dependence
    bits: int


class Meet(NamedTuple):
    """All cores wait for each other; `bits` have been done so far."""

    bits: int


class Enter(NamedTuple):
    """A branch begins, or a loop that may not run."""


class Leave(NamedTuple):
    """What was entered last ends; `inside` are executions from its begin on."""

    inside: int


@dataclass(frozen=True, slots=True, eq=False)
class Breaks:
    """A loop may be left here: the missing parts of signals that stand open are then done before
    that; `later` are executions that come after it."""

    open: tuple[Set | Wait, ...]
    later: int


class End(NamedTuple):
    """A loop ends that is left at these places."""

    breaks: tuple[Breaks, ...]


Event = Set | Wait | Ask | Meet | Enter | Leave | Breaks | End


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in order, and the executions that each signal is there for."""

    events: tuple[Event, ...]
    covered: dict[Signal, int]


def follow(
    root: Block,
    signals: Sequence[Signal],
    dependences: Sequence[Dependence],
    known: Ranges,
    counts: Sequence[int],
) -> list[Trace]:
    """The traces with so many rounds of every loop each."""
    program = _Program(known)
    for s in signals:
        program.at(s.block, s.before).before.append(s)
        program.at(s.block, s.after).after.append(s)
        if s.home is not None:
            program.at(s.home, s.home_place).at_home.append(s)
    for d in dependences:
        program.wanted.setdefault((d.later.leaf, d.sink), []).append(d)
        program.watched.add((d.earlier.leaf, d.source))
        if d.loop is not None:
            distance = program.distances.get(d.loop, 0)
            program.distances[d.loop] = max(d.distance, distance)
        for leaf in (d.earlier.leaf, d.later.leaf):
            program.busy.update(outer for outer, _ in leaf.block.chain())
    return [_followed(root, signals, program, n) for n in counts]


def _followed(root: Block, signals: Sequence[Signal], program: _Program, rounds: int) -> Trace:
    walk = _Walk(program, rounds)
    walk.block(root, ())
    covered = {
        s: sum(
            bit
            for key in {(d.earlier.leaf, d.source) for d in s.covers}
            for _, bit in walk.done.get(key, ())
        )
        for s in signals
    }
    return Trace(tuple(walk.events), covered)


@dataclass(slots=True)
class _Place:
    before: list[Signal] = field(default_factory=list)
    after: list[Signal] = field(default_factory=list)
    at_home: list[Signal] = field(default_factory=list)


@dataclass(slots=True)
class _Program:
    """What is the same for every number of rounds: signals by place, by leaf and core which
    dependences end there and whether one begins, the blocks in which any does, the longest distance
    that a loop carries, and what was found on the way."""

    known: Ranges
    places: dict[tuple[Block, int], _Place] = field(default_factory=dict)
    wanted: dict[tuple[Leaf, Core], list[Dependence]] = field(default_factory=dict)
    watched: set[tuple[Leaf, Core]] = field(default_factory=set)
    busy: set[Block] = field(default_factory=set)
    distances: dict[Block, int] = field(default_factory=dict)
    groups: Groups = field(default_factory=Groups)
    fixed: dict[Leaf, list[OnChip]] = field(default_factory=dict)  # the same in all rounds
    trips: dict[Block, Interval] = field(default_factory=dict)

    def at(self, block: Block, place: int) -> _Place:
        return self.places.setdefault((block, place), _Place())


_NOTHING = _Place()


@dataclass(slots=True)
class _Walk:
    program: _Program
    rounds: int
    events: list[Event] = field(default_factory=list)
    bits: int = 0
    cores: dict[Core, OwnWork] = field(default_factory=lambda: {c: OwnWork() for c in CORES})
    done: dict[tuple[Leaf, Core], list[tuple[Rounds, int]]] = field(default_factory=dict)
    names: dict[Var, int] = field(default_factory=dict)
    # Signals that have been set, in order; and where the loops around are left.
    begun: dict[Signal, None] = field(default_factory=dict)
    exits: list[list[tuple[Breaks, dict[Core, OwnWork]]]] = field(default_factory=lambda: [[]])

    def block(self, block: Block, rounds: Rounds) -> None:
        places = self.program.places
        for number, item in enumerate(block.items):
            place = places.get((block, number), _NOTHING)
            for s in place.at_home:
                self.events += [self.set(s)] * s.ahead
            self.events += map(Wait, place.before)
            if isinstance(item.stmt, Break):
                self.leave(block)
            leaf = block.leaves.get(number)
            if leaf is not None:
                self.leaf(leaf, rounds)
            if number in block.inner:
                self.inside(item.stmt, block.inner[number], rounds)
            self.events += map(self.set, place.after)
            for s in place.at_home:
                self.events += [Wait(s)] * s.ahead

    def set(self, signal: Signal) -> Set:
        self.begun[signal] = None
        return Set(signal, self.cores[signal.source].pipes.get(signal.pipe, 0))

    def inside(self, stmt: object, blocks: tuple[Block, ...], rounds: Rounds) -> None:
        if isinstance(stmt, For):
            body, trips = blocks[0], self.program.trips.get(blocks[0])
            if trips is None:
                trips = interval(trip_count(stmt), self.program.known)
                self.program.trips[body] = trips
            most = int(min(self.rounds_of(body), trips.high))
            self.loop(body, rounds, most, trips.low >= 1, stmt.var)
        elif isinstance(stmt, If):
            for b in blocks:
                if b.items:
                    entered = self.enter()
                    self.block(b, rounds)
                    self.forget(*entered)
        else:
            self.loop(blocks[0], rounds, self.rounds_of(blocks[0]), False, None)

    def rounds_of(self, block: Block) -> int:
        """So many that what is carried from one round to a later one meets it in a steady loop."""
        carried = self.program.distances.get(block, 0)
        return max(self.rounds, carried + 2) if self.rounds >= STEADY else self.rounds

    def loop(self, block: Block, rounds: Rounds, trips: int, surely: bool, var: Var | None) -> None:
        entered = None if surely else self.enter()
        self.exits.append([])
        # What only computes on the chip does so in every round alike.
        for n in range(trips if block in self.program.busy else min(trips, 1)):
            if var is not None:
                self.names[var] = n
            self.block(block, (*rounds, (id(block), n)))
        exits = self.exits.pop()
        if exits:
            self.events.append(End(tuple(place for place, _ in exits)))
        for place, then in exits:
            for core, now in self.cores.items():
                now.join(then[core], place.later)
        if entered is not None:
            self.forget(*entered)

    def leave(self, block: Block) -> None:
        """Remember what is so where a branch breaks its loop."""
        open_: list[Set | Wait] = []
        if block.parent is not None:
            for s, is_set in open_signals(self.begun, block.parent, block.place):
                open_.append(Wait(s) if is_set else self.set(s))
        place = Breaks(tuple(open_), -1 << self.bits)
        self.events.append(place)
        self.exits[-1].append((place, self.snapshot()))

    def snapshot(self) -> dict[Core, OwnWork]:
        return {c: work.copy() for c, work in self.cores.items()}

    def enter(self) -> tuple[dict[Core, OwnWork], int]:
        """What is so, and the executions from here on, where a part begins that may not run."""
        self.events.append(Enter())
        return self.snapshot(), -1 << self.bits

    def forget(self, start: dict[Core, OwnWork], inside: int) -> None:
        """Back to what was so, but for executions inside."""
        for core, now in self.cores.items():
            now.forget(start[core], inside)
        # Where nothing has happened there is nothing to forget.
        if isinstance(self.events[-1], Enter):
            self.events.pop()
        else:
            self.events.append(Leave(inside))

    def leaf(self, leaf: Leaf, rounds: Rounds) -> None:
        effect = getattr(getattr(leaf.stmt, "opdef", None), "effect", None)
        if effect is Effect.SYNC_ALL:
            self.events.append(Meet((1 << self.bits) - 1))
            return
        chip = self.program.fixed.get(leaf) or self.on_chip(leaf)
        for which in leaf.cores:
            own = leaf, which
            self.ask(own, rounds)
            bit = 0
            if own in self.program.watched:
                bit = 1 << self.bits
                self.bits += 1
                self.done.setdefault(own, []).append((rounds, bit))
            self.cores[which].execute(bit, chip, leaf.pipes)

    def on_chip(self, leaf: Leaf) -> list[OnChip]:
        names, groups = self.names, self.program.groups
        chip = [
            groups.of(access, tuple([names.get(v, -1) for v in access.variables]))
            for access in leaf.chip
        ]
        if not any(access.variables for access in leaf.chip):
            self.program.fixed[leaf] = chip
        return chip

    def ask(self, own: tuple[Leaf, Core], rounds: Rounds) -> None:
        for d in self.program.wanted.get(own, ()):
            asked = 0
            for at, bit in self.done.get((d.earlier.leaf, d.source), ()):
                if _precedes(d, at, rounds):
                    asked |= bit
            if asked:
                self.events.append(Ask(d, asked))


def _precedes(d: Dependence, earlier: Rounds, later: Rounds) -> bool:
    """Whether a dependence asks for an execution in these rounds before one in those."""
    then, now = dict(earlier), dict(later)
    if d.loop is None:
        return all(now[block] == n for block, n in earlier if block in now)
    for block, n in earlier:
        if block == id(d.loop):
            return now[block] - n >= max(1, d.distance)
        if block in now and then[block] != now[block]:
            return False
    return False


__all__ = [
    "Ask",
    "Breaks",
    "End",
    "Enter",
    "Event",
    "Leave",
    "Meet",
    "Set",
    "Trace",
    "Wait",
    "follow",
]
