"""Makes a plan fit the machine: no flag is set while it may still be set, and ids suffice.

Where they do not, in this order: one id for all slots; two flags of a block become one, set at the
later place and waited for at the earlier; the flags of an inner loop are raised before that loop
and not before all; a fence against the other direction ends the use of ids before it; a full
barrier. What a piece ordered beside its own hazard may have to be ordered anew.
"""

from __future__ import annotations

from dataclasses import replace

from tile_ir import IRError, Target
from tile_ir.machine import Pipe
from tile_passes.sync.event_ids import InFlight, give_event_ids
from tile_passes.sync.fences import Barrier, Fence, Flag, Piece, Plan, Reason
from tile_passes.sync.search import Numbers, add_missing, divisors
from tile_passes.sync.tree import Block, Tree

# Rounds of relief before a pair of pipes gets no more flags, and before giving up.
PATIENCE, MOST_ROUNDS = 60, 200
# Of more pieces than this, none is tried without after the changes.
MOST_TRIED = 200
# More event ids than this are not spent on one flag.
MOST_TURNS = 4


def settle(tree: Tree, conflicts: list[int], plan: Plan, numbers: Numbers, target: Target) -> None:
    """Give every piece its event ids, changing the plan where it must be."""
    for count in range(MOST_ROUNDS):
        walked = InFlight(tree, conflicts, plan)
        walked.run()
        if walked.incomplete:
            add_missing(tree, conflicts, plan, numbers)
            continue
        if count > PATIENCE and walked.early:
            for piece in walked.early:
                _give_up(plan, piece)
            continue
        if walked.early:
            turns = [p for p in walked.early if isinstance(p, Flag) and _more_turns(p)]
            # What holds one flag back may hold back the others too.
            for piece in turns or list(walked.early)[:1]:
                _hold_back(tree, plan, piece, numbers)
            continue
        failed = give_event_ids(walked, target)
        if not failed:
            if count and len(plan.pieces) <= MOST_TRIED:
                _leave_out(tree, conflicts, plan, target)
            return
        for piece in failed:
            if count > PATIENCE:
                _give_up(plan, piece)
            elif piece in plan.pieces:
                _relieve(tree, plan, piece, numbers)
    raise IRError("sync-events", "no assignment of event ids was found", tree.root.items[0].loc)


def _put(plan: Plan, old: Piece, new: Piece, numbers: Numbers) -> None:
    plan.remove(old)
    if not isinstance(new, Barrier):
        new.first_bit = numbers.take(new.slots)
    plan.add(new)


def _hold_back(tree: Tree, plan: Plan, piece: Flag | Fence, numbers: Numbers) -> None:
    """Let the flag be set only when its last wait is over."""
    if isinstance(piece, Fence):
        _hold_fence(tree, plan, piece, numbers)
        return
    if slots := _more_turns(piece):
        _put(plan, piece, replace(piece, slots=slots), numbers)
    elif piece.slots > 1 and piece.carried:
        # What the loop took back when it was last left must be over when it is entered again.
        home = piece.home()
        where = (home.block, home.position, False)
        held = _fence_against(tree, plan, piece, where, numbers)
        if not held and not _answer(tree, plan, piece, numbers):
            _put(plan, piece, _one_slot(piece), numbers)
    elif not _fence_against(tree, plan, piece, (piece.block, piece.set_after, True), numbers):
        _put(plan, piece, _barrier(piece), numbers)


def _hold_fence(tree: Tree, plan: Plan, piece: Fence, numbers: Numbers) -> None:
    """A fence the other way right before it, or else a full barrier instead."""
    where = (piece.block, piece.position, piece.behind)
    if not _fence_against(tree, plan, piece, where, numbers, piece.turn - 1):
        plan.remove(piece)
        plan.add(_full(piece))


def _answer(tree: Tree, plan: Plan, piece: Flag, numbers: Numbers) -> bool:
    """The source learns a round later that the target has waited: by a flag the other way, from
    right after what waits to right before what the piece is set after."""
    loop = piece.block.loop
    pair = (piece.target, piece.source)
    if loop is None or piece.block is not loop.body or pair not in tree.flag_pairs:
        return False
    slots = next(s for s in divisors(loop.modulus) if s > 1)
    places = (piece.wait_before, piece.set_after)
    reason = _because(piece, f"flags {_pair(piece)} are set again, and their waits must be over")
    answer = Flag(piece.target, piece.source, piece.block, *places, 1, slots, reason)
    if any(p.place == answer.place for p in plan.pieces):
        return False
    answer.first_bit = numbers.take(slots)
    plan.add(answer)
    return True


def _more_turns(piece: Flag) -> int | None:
    """How many ids the rounds of the loop could take instead, if more."""
    loop = piece.block.loop
    if piece.single or loop is None or (piece.carried and piece.block is not loop.body):
        return None
    return next((s for s in divisors(loop.modulus) if piece.slots < s <= MOST_TURNS), None)


def _leave_out(tree: Tree, conflicts: list[int], plan: Plan, target: Target) -> None:
    """Take away what the changes have made superfluous."""

    def fits() -> bool:
        walked = InFlight(tree, conflicts, plan)
        walked.run()
        return not (walked.incomplete or walked.early or give_event_ids(walked, target))

    before = [(p, p.event) for p in plan.pieces if not isinstance(p, Barrier)]
    everything = plan.pieces.copy()
    plan.leave_out(fits)
    if not fits():
        # Ids are given in the order of the pieces, and in this one they do not suffice.
        for piece in everything:
            if piece not in plan.pieces:
                plan.add(piece)
        for flag, event in before:
            flag.event = event


def _fence_against(
    tree: Tree,
    plan: Plan,
    piece: Flag | Fence,
    where: tuple[Block, int, bool],
    numbers: Numbers,
    turn: int = 0,
) -> bool:
    """The source waits for all the target was given so far, at a place before it sets the flag."""
    if (piece.target, piece.source) not in tree.flag_pairs:
        return False
    reason = _because(
        piece,
        f"flags {_pair(piece)} are set again next, and their last waits must be over",
    )
    fence = Fence(piece.target, piece.source, *where, reason, turn=turn)
    if any(p.place == fence.place for p in plan.pieces):
        return False
    fence.first_bit = numbers.take(1)
    plan.add(fence)
    return True


def _one_slot(piece: Flag) -> Flag:
    """The same order, and more, with a single event id."""
    within = piece.set_after < piece.wait_before
    reason = _because(piece, "one event id for all slots: ids or loops allow no more")
    return replace(piece, distance=0 if within else 1, slots=1, single=True, reason=reason)


def _give_up(plan: Plan, piece: Flag | Fence) -> None:
    """A full barrier for this piece and for all that its pair of pipes may still need."""
    plan.closed.add((piece.source, piece.target))
    plan.remove(piece)
    plan.add(_full(piece) if isinstance(piece, Fence) else _barrier(piece))


def _full(fence: Fence) -> Barrier:
    reason = _because(fence, f"no event id was left for a fence {_pair(fence)}")
    return Barrier(Pipe.ALL, fence.block, fence.position + fence.behind, reason)


def _barrier(piece: Flag) -> Barrier:
    reason = _because(piece, f"no event id was left for a flag {_pair(piece)}")
    return Barrier(Pipe.ALL, piece.block, piece.wait_before, reason)


def _pair(piece: Flag | Fence) -> str:
    return f"{piece.source.value} -> {piece.target.value}"


def _because(piece: Flag | Fence, why: str) -> Reason:
    """The hazard of a piece, for what stands in its place."""
    return replace(piece.reason, why=why)


def _relieve(tree: Tree, plan: Plan, piece: Flag | Fence, numbers: Numbers) -> None:
    """Change the plan so that fewer ids of the pair are in use at once."""
    if isinstance(piece, Fence):
        _hold_fence(tree, plan, piece, numbers)
    elif (other := _mate(plan, piece)) is not None:
        plan.remove(other)
        _put(plan, piece, _merged(piece, other), numbers)
    elif piece.slots > 1:
        _put(plan, piece, _one_slot(piece), numbers)
    elif piece.carried and not piece.local and piece.home() is not piece.block.loop:
        reason = _because(piece, "event ids ran out: raised before its own loop only")
        _put(plan, piece, replace(piece, local=True, reason=reason), numbers)
    elif piece.carried or not _fence_against(
        tree, plan, piece, (piece.block, piece.set_after, True), numbers
    ):
        _put(plan, piece, _barrier(piece), numbers)


def _mate(plan: Plan, piece: Flag) -> Flag | None:
    """Another flag of the pair and block that one flag can serve together with this one."""
    found = [
        p
        for p in plan.pieces
        if isinstance(p, Flag)
        and p is not piece
        and (p.source, p.target, p.block) == (piece.source, piece.target, piece.block)
        and (p.slots, p.distance) == (piece.slots, piece.distance)
        and (piece.carried or _overlap(p, piece))
    ]
    return max(found, key=lambda p: p.set_after, default=None)


def _overlap(a: Flag, b: Flag) -> bool:
    """Whether both are set before either is waited for."""
    return max(a.set_after, b.set_after) < min(a.wait_before, b.wait_before)


def _merged(a: Flag, b: Flag) -> Flag:
    return replace(
        a,
        set_after=max(a.set_after, b.set_after),
        wait_before=min(a.wait_before, b.wait_before),
        local=a.local and b.local,
        reason=_because(a, "event ids ran out: one flag stands for several"),
    )
