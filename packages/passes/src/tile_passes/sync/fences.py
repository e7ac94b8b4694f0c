"""What orders two pipes, or one with itself, and where in the tree it stands.

Each kind is balanced by itself: whatever path is taken through the section, every set is waited
for once, so that pieces can be added and taken away one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from tile_ir.machine import Pipe
from tile_passes.sync.tree import Block, Item, Leave, Repeat, Work


@dataclass(frozen=True, slots=True)
class Reason:
    """The hazard a fence is there for: what happens first, and what must come after it. `why` says
    what kept it from being a plain flag or barrier, as `explain` tells it."""

    earlier: Work
    later: Work
    why: str = ""


@dataclass(eq=False, slots=True)
class Flag:
    """`target` waits before one item of a block for what `source` has done up to another.

    `distance` 0: the set comes first and the wait follows in the same round. Otherwise the wait of
    a round takes what was set `distance` rounds before: as many flags are raised before the loop,
    and taken back after it; that is the outermost loop, unless the flag is `local`. `slots` event
    ids are used in turn, by the variable of the loop; a `single` one has no more than one.
    """

    source: Pipe
    target: Pipe
    block: Block
    set_after: int
    wait_before: int
    distance: int
    slots: int
    reason: Reason
    local: bool = False
    single: bool = False
    first_bit: int = -1
    event: int = -1

    @property
    def carried(self) -> bool:
        return self.distance > 0

    @property
    def place(self) -> Place:
        pipes = (self.source, self.target)
        return pipes, self.block, self.set_after, self.wait_before, self.distance, self.slots

    @property
    def by_slot(self) -> bool:
        """Whether each round takes and gives back the flag of its own slot, so that it does not
        matter which rounds there are: such flags may be raised once for all loops around."""
        return self.distance == self.slots

    def home(self) -> Repeat:
        """The loop before which the flags of a carried one are raised."""
        loop = self.block.loop
        assert loop is not None, "only loops carry"
        while self.by_slot and not self.local and loop.block.loop is not None:
            loop = loop.block.loop
        return loop


@dataclass(eq=False, slots=True)
class Fence:
    """Set and wait back to back: `target` waits for all `source` was given so far. It stands before
    an item, or right before the flags that are set after it. Where several stand at one place, that
    with the lower `turn` comes first."""

    source: Pipe
    target: Pipe
    block: Block
    position: int
    behind: bool
    reason: Reason
    first_bit: int = -1
    event: int = -1
    slots: int = 1
    turn: int = 0

    @property
    def place(self) -> Place:
        return (self.source, self.target), self.block, self.position, self.behind


@dataclass(eq=False, slots=True)
class Barrier:
    """Later work of a pipe waits for its earlier work; ALL stands for every pipe. It stands before
    an item, or at the end of its block."""

    pipe: Pipe
    block: Block
    position: int
    reason: Reason

    @property
    def place(self) -> Place:
        return self.pipe, self.block, self.position


# Equal for pieces that do the same.
Place = tuple[object, ...]
Piece = Flag | Fence | Barrier


class Do(IntEnum):
    """One instruction of a piece, in the order they take between two items."""

    FENCE_BEHIND = 0
    SET = 1
    DRAIN = 2
    WAIT = 3
    FENCE = 4
    BARRIER = 5
    PRIME = 6


Action = tuple[Do, Piece]


@dataclass(slots=True)
class Plan:
    """The pieces of a section, and which instructions stand after and before each item."""

    pieces: list[Piece] = field(default_factory=list)
    after: dict[Block, dict[int, list[Action]]] = field(default_factory=dict)
    before: dict[Block, dict[int, list[Action]]] = field(default_factory=dict)
    # Pairs of pipes for which no event ids are left.
    closed: set[tuple[Pipe, Pipe]] = field(default_factory=set)
    # Flags whose rounds matter, by the loop they belong to.
    by_round: dict[Repeat, list[Flag]] = field(default_factory=dict)

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        for where, block, position, do in _instructions(self, piece):
            actions = where.setdefault(block, {}).setdefault(position, [])
            actions.append((do, piece))
            actions.sort(key=_rank)
        if isinstance(piece, Flag) and piece.carried and not piece.by_slot:
            self.by_round.setdefault(piece.home(), []).append(piece)

    def remove(self, piece: Piece) -> None:
        self.pieces.remove(piece)
        for where, block, position, do in _instructions(self, piece):
            where[block][position].remove((do, piece))
        if isinstance(piece, Flag) and piece.carried and not piece.by_slot:
            self.by_round[piece.home()].remove(piece)

    def leave_out(self, superfluous: Callable[[], bool]) -> None:
        """Try every piece, the last first: it stays away if the plan without it says so. The others
        keep their order."""
        before = self.pieces.copy()
        for piece in reversed(before):
            self.remove(piece)
            if not superfluous():
                self.add(piece)
        kept = set(self.pieces)
        for piece in before:
            if piece in kept:
                self.remove(piece)
                self.add(piece)

    def at_break(self, leave: Leave) -> Iterator[Action]:
        """What is in flight when a break leaves its loop: flags to be taken, or given back."""
        block, position = leave.block, leave.position
        given: list[Action] = []
        while True:
            for piece in self.pieces:
                if not isinstance(piece, Flag) or piece.block is not block:
                    continue
                if not piece.carried and piece.set_after < position < piece.wait_before:
                    yield Do.WAIT, piece
                elif piece.carried and piece.wait_before <= position <= piece.set_after:
                    given.append((Do.SET, piece))
            if block is leave.loop.body:
                break
            owner = block.owner
            assert owner is not None, "a loop is around"
            block, position = owner.block, owner.position
        yield from given


def _rank(action: Action) -> tuple[Do, int]:
    do, piece = action
    return do, piece.turn if isinstance(piece, Fence) else 0


_Where = dict[Block, dict[int, list[Action]]]


def _instructions(plan: Plan, piece: Piece) -> Iterator[tuple[_Where, Block, int, Do]]:
    match piece:
        case Flag(block=block):
            yield plan.after, block, piece.set_after, Do.SET
            yield plan.before, block, piece.wait_before, Do.WAIT
            if piece.carried and piece.by_slot:
                home: Item = piece.home()
                yield plan.before, home.block, home.position, Do.PRIME
                yield plan.after, home.block, home.position, Do.DRAIN
        case Fence(behind=True):
            yield plan.after, piece.block, piece.position, Do.FENCE_BEHIND
        case Fence():
            yield plan.before, piece.block, piece.position, Do.FENCE
        case Barrier():
            yield plan.before, piece.block, piece.position, Do.BARRIER
