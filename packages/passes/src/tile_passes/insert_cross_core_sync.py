"""Order the cube core and the vector cores of a block by cross-core flags; the steps are in
`order`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tile_ir import Automatic, Core, For, Func, IRError, Phase, Target
from tile_ir.analysis import Ranges, interval, launch_ranges
from tile_passes.order.core_blocks import Block, breaking_places, build_blocks
from tile_passes.order.core_completion import core_flow, telling, unordered
from tile_passes.order.core_dependences import Dependence, find_dependences
from tile_passes.order.counter_ids import flag_ids
from tile_passes.order.counters import Signal, propose, throttle
from tile_passes.order.write_counters import written
from tile_passes.passdef import ir_pass

# How many signals a core may be ahead where nothing else holds it back, and how many credits: both
# together are what a counter holds at most.
AHEAD = 7
# So many credits are tried to do without.
MOST_TRIED = 16


@ir_pass(needs=Phase.LOWERED)
def insert_cross_core_sync(func: Func, target: Target) -> Func:
    """Set and await a flag for what one core must not do before another has done its part.

    Needs, gives: LOWERED, kernels whose order between cores is automatic. Idea: dependences
    between accesses of gm in the order of the text, with their distance in rounds; a signal for
    each, right behind its source and right before its sink, or a credit where a loop carries it;
    signals that tell nothing new, by a must-analysis of what is complete, are eliminated;
    credits hold a core back that could run ahead of the counters. Limits: blocks of a launch are
    not ordered with each other.
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
    flow = core_flow(root, proposed, found, known)
    needed = telling(flow)
    kept = [s for s in proposed if s in needed]
    lost = unordered(flow, kept)
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
        if unordered(flow, without) is None:
            kept = without
    return kept


@dataclass(frozen=True, slots=True)
class _Passing:
    """Where one core sets a flag and the other awaits it, `count` times: a signal, or its credits
    at their home. Whoever awaits it may be `lead` rounds ahead of who sets it."""

    source: Core
    sink: Core
    block: Block
    after: int
    before: int
    count: int
    lead: int = 1


def _passings(s: Signal) -> Iterator[_Passing]:
    yield _Passing(s.source, s.sink, s.block, s.after, s.before, 1, max(1, s.ahead))
    if s.home is not None:
        yield _Passing(s.source, s.sink, s.home, s.home_place, s.home_place, s.ahead)


def _throttles(signals: Sequence[Signal], known: Ranges) -> list[Signal]:
    """Credits for loops in which the source of a signal never waits for its sink; such a credit may
    need one of its own, where the signal is given in some rounds only."""
    result: dict[tuple[Core, Core, Block], Signal] = {}
    passings = [p for s in signals for p in _passings(s)]
    # Who sets most at a time may be the fewest rounds ahead, which holds for the others too.
    waiting = sorted(passings, key=lambda p: -p.count)
    for p in waiting:
        block = next((b for b, _ in p.block.chain() if b.is_loop), None)
        if block is None or _most_rounds(block, known) * p.count <= AHEAD:
            continue
        around = list(_around(p.block, block))
        more = (q for r in result.values() for q in _passings(r))
        if any(
            back.source is p.sink
            and back.sink is p.source
            and back.lead * p.count <= AHEAD
            and _runs_with(back.block, around, known)
            and not _left_out(back, p, block)
            for back in (*passings, *more)
        ):
            continue
        credit = throttle(p.sink, p.source, block, max(1, AHEAD // p.count))
        if result.setdefault((p.source, p.sink, block), credit) is credit:
            waiting.extend(_passings(credit))
    return list(result.values())


def _around(inner: Block, loop: Block) -> Iterator[Block]:
    """The blocks around a block up to that of a loop: they run as often, or more."""
    for block, _ in inner.chain():
        yield block
        if block is loop:
            return


def _runs_with(inner: Block, around: Sequence[Block], known: Ranges) -> bool:
    """Whether a block runs whenever these do: as one of them, or in loops that surely run."""
    for block, _ in inner.chain():
        if any(block is b for b in around):
            return True
        match block.around:
            case For(start=start, stop=stop):
                leaves = next(breaking_places(block), None) is not None
                if leaves or interval(stop - start, known).low < 1:
                    return False
            case _:
                return False
    return False


def _left_out(back: _Passing, passing: _Passing, block: Block) -> bool:
    """Whether a round of a loop that begins again and again may give a signal and break before the
    signal back: no number of such rounds is held back."""
    if not any(outer.is_loop for outer, _ in block.chain() if outer is not block):
        return False
    places = tuple(breaking_places(block))
    if back.block is not block:
        return bool(places)
    for place in places:
        passed = passing.block is not block or passing.after < place or passing.before <= place
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
