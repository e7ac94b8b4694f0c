"""Orders the cube core and the vector cores of a block by cross-core flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tile_ir import Automatic, Core, For, Func, IRError, Phase, Target
from tile_ir.bounds import interval
from tile_ir.walk import Ranges, launch_ranges
from tile_passes.cross.blocks import Block, breaking_places, build_blocks
from tile_passes.cross.completion import examine
from tile_passes.cross.dependences import Dependence, find_dependences
from tile_passes.cross.flag_ids import flag_ids
from tile_passes.cross.signals import Signal, propose, throttle
from tile_passes.cross.write import written
from tile_passes.passdef import ir_pass

# Numbers of rounds all loops are followed with: one, two, and steady.
ROUNDS = (1, 2, 3)
# How many signals a core may be ahead where nothing else holds it back.
AHEAD = 7
# So many credits are tried to do without.
MOST_TRIED = 16


@ir_pass(needs=Phase.LOWERED)
def insert_cross_core_sync(func: Func, target: Target) -> Func:
    """Set and await a flag for what one core must not do before another has done its part.

    Needs, gives: LOWERED, kernels whose order between cores is automatic. Idea: dependences
    between accesses of gm in the order of the text, with their distance in rounds; a signal for
    each, right behind its source and right before its sink, or a credit where a loop carries it;
    signals that tell nothing new, by a must-analysis of what is complete, are left out; credits
    hold a core back that could run ahead of the counters. Limits: blocks of a launch are not
    ordered with each other.
    """
    root = build_blocks(func)
    ids = _find_signals(func, root, target)
    return written(func, root, ids) if ids else func


def find_signals(func: Func, target: Target) -> dict[Signal, int]:
    """The signals that `insert_cross_core_sync` would write, with their flags."""
    return _find_signals(func, build_blocks(func), target)


def _find_signals(func: Func, root: Block, target: Target) -> dict[Signal, int]:
    if Automatic.CROSS not in func.automatic:
        return {}
    found = find_dependences(func, root)
    if not found:
        return {}
    known = launch_ranges(func)
    signals = _needed(propose(found), root, found, known)
    signals = [*signals, *_throttles(signals, known)]
    return flag_ids(signals, root, target.compiler_cross_flags, target.cross_counter_limit)


def _needed(
    proposed: Sequence[Signal], root: Block, found: Sequence[Dependence], known: Ranges
) -> list[Signal]:
    """The signals that are left when those that tell nothing new are gone: what each wait tells
    that earlier ones have not told, then, one by one, what is told in time without."""
    needed: set[Signal] = set()
    for rounds in ROUNDS:
        needed |= examine(root, proposed, found, known, rounds, lazily=True).needed
    kept = [s for s in proposed if s in needed]
    lost = _missing(kept, root, found, known)
    if lost is not None:
        raise IRError(
            "cross-order",
            f"the order between `{lost.earlier.region.buffer.name}` in lines "
            f"{lost.earlier.leaf.stmt.loc.line} and {lost.later.leaf.stmt.loc.line} was lost",
            lost.later.leaf.stmt.loc,
            "this is a bug of the compiler",
        )
    # Credits of outer loops often say what those of inner ones say right before the access.
    for s in sorted((s for s in kept if s.carried), key=lambda s: s.block.depth)[:MOST_TRIED]:
        without = [k for k in kept if k is not s]
        if _missing(without, root, found, known) is None:
            kept = without
    return kept


def _missing(
    signals: Sequence[Signal], root: Block, found: Sequence[Dependence], known: Ranges
) -> Dependence | None:
    """A dependence that these signals do not order, if there is one."""
    for rounds in ROUNDS:
        missing = examine(root, signals, found, known, rounds, lazily=False).missing
        if missing:
            return min(missing, key=lambda d: str(d.later.leaf.stmt.loc))
    return None


def _throttles(signals: Sequence[Signal], known: Ranges) -> list[Signal]:
    """Credits for loops in which the source of a signal never waits for its sink; such a credit may
    need one of its own, where the signal is given in some rounds only."""
    result: dict[tuple[Core, Core, Block], Signal] = {}
    waiting = list(signals)
    for s in waiting:
        block = next((b for b, _ in s.block.chain() if b.is_loop), None)
        if block is None or _most_rounds(block, known) * max(1, s.ahead) <= AHEAD:
            continue
        back = [r for r in (*signals, *result.values()) if r.source is s.sink]
        around = {id(b) for b in _around(s, block)}
        held = [r for r in back if r.sink is s.source and id(r.block) in around]
        if any(not _left_out(r, s, block) for r in held):
            continue
        credit = throttle(s, AHEAD)
        if result.setdefault((s.source, s.sink, block), credit) is credit:
            waiting.append(credit)
    return list(result.values())


def _around(signal: Signal, loop: Block) -> Iterator[Block]:
    """The blocks around a signal up to that of a loop: what is in them runs as often, or more."""
    for block, _ in signal.block.chain():
        yield block
        if block is loop:
            return


def _left_out(back: Signal, signal: Signal, block: Block) -> bool:
    """Whether a round of a loop that begins again and again may give a signal and break before the
    signal back: no number of such rounds is held back."""
    if not any(outer.is_loop for outer, _ in block.chain() if outer is not block):
        return False
    places = tuple(breaking_places(block))
    if back.block is not block:
        return bool(places)
    for place in places:
        passed = signal.block is not block or signal.after < place or signal.before <= place
        if passed and not (back.after < place or back.before <= place):
            return True
    return False


def _most_rounds(block: Block, known: Ranges) -> float:
    """How often a block runs in the whole kernel, at most."""
    rounds = 1.0
    for outer, _ in block.chain():
        match outer.around:
            case For(start=start, stop=stop):
                rounds *= max(0, interval(stop - start, known).high)
            case None:
                pass
            case _ if outer.is_loop:
                return float("inf")
    return rounds
