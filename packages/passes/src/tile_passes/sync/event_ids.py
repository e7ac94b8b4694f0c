"""Gives every flag its event ids: two flags of one ordered pair of pipes share an id only if the
wait of the one is surely over when the other is set, whichever comes first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tile_ir import Effect, Op, Target
from tile_ir.machine import Pipe
from tile_passes.sync.facts import Facts, State
from tile_passes.sync.fences import Barrier, Fence, Flag
from tile_passes.sync.in_text import orders
from tile_passes.sync.tree import Block, Phases, Site

Pair = tuple[Pipe, Pipe]


@dataclass(eq=False)
class InFlight(Facts):
    """One walk over a finished plan. `meets` holds, for every piece, the waits (as bits) of flags
    of its pair that may be in flight when it is set; `early` the pieces whose own last wait may;
    `incomplete` says that some conflict is not ordered."""

    meets: dict[Flag | Fence, int] = field(default_factory=dict)
    early: dict[Flag | Fence, None] = field(default_factory=dict)
    incomplete: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pairs: dict[Pair, int] = defaultdict(int)
        for piece in self.plan.pieces:
            if not isinstance(piece, Barrier):
                self.pairs[piece.source, piece.target] |= bits_of(piece)

    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        self.incomplete = True

    def set_too_early(self, piece: Flag | Fence) -> None:
        self.early[piece] = None

    def flag_set(self, piece: Flag | Fence, state: State) -> None:
        pair = (piece.source, piece.target)
        found = self.pairs[pair] & ~state.known[self.index[piece.source]]
        for key in state.flags:
            other = key[0]
            if isinstance(other, (Flag, Fence)) and (other.source, other.target) == pair:
                found |= bits_of(other)
        self.meets[piece] = self.meets.get(piece, 0) | found & ~bits_of(piece)


def bits_of(piece: Flag | Fence) -> int:
    """The waits of a piece."""
    return ((1 << piece.slots) - 1) << piece.first_bit


def give_event_ids(walked: InFlight, target: Target) -> list[Flag | Fence]:
    """Fill in `event` of every piece; those for which none was left."""
    taken = _of_user(walked.tree.root, target)
    # For every pair and id: the waits of those who have it, and what they must not meet.
    holders: dict[tuple[Pair, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    failed: list[Flag | Fence] = []
    pieces = [p for p in walked.plan.pieces if not isinstance(p, Barrier)]
    # Flags that live through loops first: they have the fewest places to go.
    for piece in sorted(pieces, key=lambda p: not (isinstance(p, Flag) and p.carried)):
        pair = (piece.source, piece.target)
        own, meets = bits_of(piece), walked.meets.get(piece, 0)
        for first in range(target.events_per_pair - piece.slots + 1):
            ids = [(pair, first + s) for s in range(piece.slots)]
            if any(
                i[1] in taken[pair] or holders[i][0] & meets or holders[i][1] & own for i in ids
            ):
                continue
            piece.event = first
            for i in ids:
                waits, met = holders[i]
                holders[i] = (waits | own, met | meets)
            break
        else:
            failed.append(piece)
    return failed


def _of_user(root: Block, target: Target) -> dict[Pair, set[int]]:
    """The ids that flags of the kernel's author may use."""
    taken: dict[Pair, set[int]] = defaultdict(set)

    for item in orders(root):
        op = item.stmt
        assert isinstance(op, Op), "flags and barriers are operations"
        if op.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
            pair = (Pipe(op.attr("src_pipe")), Pipe(op.attr("dst_pipe")))
            for span in item.spans.values():
                first, last = max(span.low, 0), min(span.high, target.events_per_pair - 1)
                taken[pair].update(range(int(first), int(last) + 1))
    return taken
