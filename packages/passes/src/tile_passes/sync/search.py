"""Finds a plan: no hazard left, and nothing that could be left out.

Fences are added where a hazard is met, in program order, which is minimal where nothing is
repeated. In loops what was added first may be made superfluous by what the next round needs, so
that there the order within a round is found again once it is known what the rounds carry, and every
piece is tried without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from tile_ir.machine import Pipe
from tile_passes.sync.facts import Facts, State
from tile_passes.sync.fences import Barrier, Fence, Flag, Piece, Place, Plan, Reason
from tile_passes.sync.tree import (
    Block,
    Branch,
    Item,
    Phases,
    Repeat,
    Site,
    Tree,
    Work,
    meeting,
    unlikely_block,
)


def find_plan(tree: Tree, conflicts: list[int], numbers: Numbers) -> Plan:
    """The pieces that order every conflict of the section."""
    plan = Plan()
    add_missing(tree, conflicts, plan, numbers)
    if tree.flat:
        return plan
    for piece in [p for p in plan.pieces if not (isinstance(p, Flag) and p.carried)]:
        plan.remove(piece)
    add_missing(tree, conflicts, plan, numbers)
    plan.leave_out(lambda: holds(tree, conflicts, plan))
    return plan


def add_missing(tree: Tree, conflicts: list[int], plan: Plan, numbers: Numbers) -> None:
    """Add pieces until nothing is missing."""
    first = True
    while True:
        adding = _Adding(tree, conflicts, plan, numbers=numbers, first=first)
        adding.run()
        if not adding.guessed:
            return
        first = False


class Missing(Exception):
    """A conflict is not ordered."""


class _Check(Facts):
    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        raise Missing


def holds(tree: Tree, conflicts: list[int], plan: Plan) -> bool:
    """Whether the plan orders every conflict."""
    try:
        _Check(tree, conflicts, plan).run()
    except Missing:
        return False
    return True


@dataclass(slots=True)
class Numbers:
    """The next free bit, for the waits of a new piece."""

    next: int

    def take(self, count: int) -> int:
        first = self.next
        self.next += count
        return first


@dataclass(slots=True)
class _Candidate:
    """What may be put in, and what the pipe then knows; nothing if that is put off."""

    pieces: tuple[Piece, ...]
    gives: int
    need: int
    exact: bool


@dataclass(eq=False)
class _Adding(Facts):
    """Adds a piece at every uncovered site. `guessed` says that a piece was added whose effect on
    what came before is not known yet, so that another walk is due; `first`, that there was none
    before this one."""

    numbers: Numbers = field(default_factory=lambda: Numbers(0))
    first: bool = False
    guessed: bool = False
    # What was added in this walk: flags raised before a loop help from the next walk on.
    added: set[Place] = field(default_factory=set)
    history: dict[Block, list[tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        local = (p for p in self.plan.pieces if isinstance(p, Flag) and p.local)
        # What was there before this walk does all it can.
        self.there = {p.place for p in self.plan.pieces} - {p.place for p in local}

    def entered(self, block: Block) -> None:
        self.history[block] = []

    def passed(self, block: Block, state: State) -> None:
        self.history[block].append(tuple(state.known))

    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        target = self.index[site.item.pipe]
        while need:
            found = [
                self.candidate(source, need & own, site, phases)
                for source, own in enumerate(self.own)
                if need & own
            ]
            for candidate in _needed(found):
                self.guessed |= not candidate.exact
                pieces = candidate.pieces
                if pieces and all(piece.place in self.there for piece in pieces):
                    why = "a flag for it does not order all rounds"
                    reason = replace(pieces[0].reason, why=why)
                    pieces = (Barrier(Pipe.ALL, site.item.block, site.item.position, reason),)
                for piece in pieces:
                    if piece.place not in self.added:
                        self.added.add(piece.place)
                        self.put(piece)
                self.learn(target, candidate.gives, state)
                need &= ~candidate.gives

    def put(self, piece: Piece) -> None:
        if not isinstance(piece, Barrier):
            piece.first_bit = self.numbers.take(piece.slots)
            bits = ((1 << piece.slots) - 1) << piece.first_bit
            self.waits[self.index[piece.target]] |= bits
        self.plan.add(piece)

    def candidate(self, source: int, need: int, site: Site, phases: Phases) -> _Candidate:
        """The piece for the innermost place where one is needed, whatever else it covers."""
        later = site.item
        if self.tree.flat:
            last = self.tree.sites[need.bit_length() - 1].item
            return self.within_round(source, _Spot(last, *meeting(last, later)), site, need)
        if (need | 1 << site.bit) & self.tree.seldom:
            found = self.seldom(source, need, later)
            if isinstance(found, _Candidate):
                return found
            need = found
        forward: _Spot | None = None
        carried: dict[tuple[bool, Block], tuple[_Spot, int]] = {}
        for _, earlier, run in self.tree.facts_of(need):
            place, distance = _relation(earlier, run, later, phases)
            if place.first < place.then and distance == 0:
                if forward is None or place.inner > forward.inner:
                    forward = place
                continue
            # The last place and the smallest distance cover the others of the same block. In a
            # branch that other rounds may not take, so do only flags of the very same slots.
            key = (place.first < place.then, place.block)
            loop = place.block.loop
            distance = distance or (loop.modulus if loop is not None else 1)
            old = carried.get(key)
            if old is not None:
                every = loop is None or place.block is loop.body
                distance = (min if every else math.gcd)(distance, old[1])
                place = old[0] if old[0].inner >= place.inner else place
            carried[key] = (place, distance)
        if forward is not None:
            return self.within_round(source, forward, site, need)
        chosen = max(carried, key=lambda key: (key[1].depth, not key[0]))
        return self.across_rounds(source, *carried[chosen], site, need)

    def within_round(self, source: int, place: _Spot, site: Site, need: int) -> _Candidate:
        block, i, j, later = place.block, place.first, place.then, site.item
        reason = Reason(place.earlier, later)
        nested = block.bits(j, j + 1) if later.block is not block else 0
        pipe = self.tree.pipes[source]
        if pipe is later.pipe:
            barrier = Barrier(pipe, *_soonest(place), reason)
            return _Candidate((barrier,), self.own[source] & ~nested, need, self.tree.flat)
        known = self.history[block][i][source]
        gives = (known | self.own[source]) & ~block.bits(i + 1, j) & ~nested
        pieces = self.flag(pipe, place, later, 0, 1)
        return _Candidate(pieces, gives, need, self.tree.flat)

    def seldom(self, source: int, need: int, later: Work) -> _Candidate | int:
        """What stands inside a branch that hardly ever runs costs nothing where it does not: before
        what the branch does, or at its end. Or else what is needed besides such branches, which may
        cover what they need."""
        likely, ends = 0, None
        for bit, site, run in self.tree.facts_of(need):
            earlier, reason = run or site.item, Reason(site.item, later)
            if (block := unlikely_block(later, earlier)) is not None:
                if self.first:
                    # What likely work waits for may serve it too, and is not known yet.
                    return _Candidate((), need, need, False)
                position = _place_in(block, later)
                gives = self.own[source] & ~block.bits(position, position + 1)
                pipe = self.tree.pipes[source]
                flag = self.earlier_wait(pipe, later.pipe, block)
                fence = self.fence(pipe, later.pipe, block, position, reason)
                return _Candidate((flag,) if flag else fence, gives, need, False)
            if (block := unlikely_block(earlier, later)) is not None:
                ends = ends or (block, reason)
            else:
                likely |= 1 << bit
        if likely or ends is None:
            return likely
        block, reason = ends
        pipe = self.tree.pipes[source]
        fence = self.fence(pipe, later.pipe, block, len(block.items), reason)
        return _Candidate(fence, self.own[source] & block.below[-1], need, False)

    def earlier_wait(self, source: Pipe, target: Pipe, branch: Block) -> Flag | None:
        """A flag that is there anyway, taken out of the plan to be waited for before the branch and
        not after it, where that holds back no likely work."""
        owner = branch.owner
        assert owner is not None, "a branch"
        around, position = owner.block, owner.position
        for piece in self.plan.pieces:
            if (
                isinstance(piece, Flag)
                and (piece.source, piece.target, piece.block) == (source, target, around)
                and position < piece.wait_before
                and (piece.set_after < position) == (piece.set_after < piece.wait_before)
                and not around.bits(position, piece.wait_before)
                & self.tree.masks[target]
                & ~self.tree.seldom
            ):
                self.plan.remove(piece)
                return replace(piece, wait_before=position)
        return None

    def fence(
        self, source: Pipe, target: Pipe, block: Block, position: int, reason: Reason
    ) -> tuple[Piece, ...]:
        """What makes one pipe wait for all the other was given so far: a set and wait; where there
        are no such flags two of them, by way of a third pipe; or else a full barrier."""
        if source is target:
            return (Barrier(source, block, position, reason),)
        if self.has_flags(source, target):
            return (Fence(source, target, block, position, False, reason),)
        pair = f"{source.value} to {target.value}"
        if (source, target) in self.plan.closed:
            why = f"no event ids are left from {pair}"
            return (Barrier(Pipe.ALL, block, position, replace(reason, why=why)),)
        reason = replace(reason, why=f"the core has no flags from {pair}")
        # What the scalar unit waits for holds back all pipes: it comes last.
        for via in sorted(self.tree.pipes, key=lambda pipe: pipe is Pipe.S):
            if self.has_flags(source, via) and self.has_flags(via, target):
                return (
                    Fence(source, via, block, position, False, reason),
                    Fence(via, target, block, position, False, reason, turn=1),
                )
        return (Barrier(Pipe.ALL, block, position, reason),)

    def has_flags(self, source: Pipe, target: Pipe) -> bool:
        """Whether there are flags between two pipes, and ids left."""
        pair = (source, target)
        return pair in self.tree.flag_pairs and pair not in self.plan.closed

    def across_rounds(
        self, source: int, place: _Spot, distance: int, site: Site, need: int
    ) -> _Candidate:
        later, loop = site.item, place.block.loop
        assert loop is not None, "only loops carry"
        pipe, gives = self.tree.pipes[source], self.own[source]
        if pipe is later.pipe:
            barrier = Barrier(pipe, place.block, place.then, Reason(place.earlier, later))
            return _Candidate((barrier,), gives, need, False)
        if place.first < place.then:
            # Set before it is waited for, in the same round but for a later one: which flag is
            # meant depends on the round, so that it belongs to the body of the loop.
            place = _Spot(
                place.earlier,
                loop.body,
                *(_place_in(loop.body, item) for item in (place.earlier, later)),
            )
        if place.first < place.then:
            slots = next(s for s in divisors(loop.modulus) if s > distance)
        elif place.block is loop.body:
            # Each round takes and gives back the flag of its slot; a shorter distance orders more.
            slots = distance = max(s for s in divisors(loop.modulus) if s <= distance)
        else:
            slots = distance = math.gcd(loop.modulus, distance)
        pieces = self.flag(pipe, place, later, distance, slots)
        return _Candidate(pieces, gives, need, False)

    def flag(
        self, pipe: Pipe, place: _Spot, later: Work, distance: int, slots: int
    ) -> tuple[Piece, ...]:
        reason = Reason(place.earlier, later)
        if not self.has_flags(pipe, later.pipe):
            return self.fence(pipe, later.pipe, place.block, place.then, reason)
        between = (place.block, place.first, place.then)
        return (Flag(pipe, later.pipe, *between, distance, slots, reason),)


def divisors(number: int) -> list[int]:
    """All of them, the smallest first."""
    return [d for d in range(1, number + 1) if number % d == 0]


def _needed(found: list[_Candidate]) -> list[_Candidate]:
    """The candidates without those whose need the others cover."""
    if len(found) == 1 or not all(c.exact for c in found):
        return found
    kept = found.copy()
    for candidate in found:
        others = 0
        for other in kept:
            if other is not candidate:
                others |= other.gives
        if not candidate.need & ~others:
            kept.remove(candidate)
    return kept


@dataclass(frozen=True, slots=True)
class _Spot:
    """Two items of one block, in which an earlier site stands and a later one."""

    earlier: Work
    block: Block
    first: int
    then: int

    @property
    def inner(self) -> tuple[int, int]:
        """Orders places: what stands deeper in loops and branches, then what stands later."""
        return self.block.depth, self.first


def _soonest(place: _Spot) -> tuple[Block, int]:
    """Where a barrier goes: before the later item, but at the end of the branch in which the
    earlier one stands, so that nothing waits where that branch is not taken."""
    block, position = place.block, place.then
    item = place.block.items[place.first]
    while isinstance(item, Branch):
        block = item.then if item.then.holds(place.earlier) else item.orelse
        position = len(block.items)
        item = block.items[_place_in(block, place.earlier)]
    return block, position


def _relation(earlier: Site, run: Repeat | None, later: Work, phases: Phases) -> tuple[_Spot, int]:
    """Where two sites meet, and how many rounds of the loop there apart their phases say they are:
    the outermost loop in whose phase they differ, or else the innermost block around both. What the
    earlier one did before a run of a loop around both, it did in an earlier round around that."""
    if run is not None:
        return _Spot(earlier.item, run.block, run.position, run.position), 0
    block, i, j = meeting(earlier.item, later)
    loops: list[Repeat] = []
    around = block.loop
    while around is not None:
        if around.modulus > 1:
            loops.append(around)
        around = around.block.loop
    for depth, loop in enumerate(reversed(loops)):
        apart = (phases[depth] - earlier.phases[depth]) % loop.modulus
        if apart:
            if loop is not block.loop:
                block = loop.body
                i, j = _place_in(block, earlier.item), _place_in(block, later)
            return _Spot(earlier.item, block, i, j), apart
    return _Spot(earlier.item, block, i, j), 0


def _place_in(block: Block, item: Work) -> int:
    """Where in the block the item stands, or what holds it."""
    place: Item = item
    while place.block is not block:
        owner = place.block.owner
        assert owner is not None, "the block is around the item"
        place = owner
    return place.position
