"""Order the cube core and the vector cores of a block by cross-core flags; the steps are in
`order`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tile_ir import Automatic, Break, For, Func, Phase, Target
from tile_ir.analysis import Ranges, interval
from tile_ir.quick_dataclasses import dataclass
from tile_passes.order.channels import Counter, Place, Plan
from tile_passes.order.core_completion import needed_signals
from tile_passes.order.core_dependences import find_dependences
from tile_passes.order.counters import AHEAD, allocate_counters, credit, propose
from tile_passes.order.event_ids import Allocation
from tile_passes.order.flow_graph import core_flow_graph
from tile_passes.order.tree import Block, Item, Repeat, Tree
from tile_passes.order.unroll import core_tree
from tile_passes.order.write import written
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.LOWERED)
def insert_cross_core_sync(func: Func, target: Target) -> Func:
    """Insert the cross-core flags that order dependent accesses of two cores.

    Needs, gives: LOWERED, kernels whose order between cores is automatic. Idea: the dependences
    between accesses of gm in text order, with their distance in iterations. Each becomes a signal
    from right behind its source to right before its sink, or a credit if a loop carries it. A
    must-analysis of completed work removes redundant signals. Credits hold back a core that could
    overflow a counter. Limits: blocks of a launch are not ordered with each other.
    """
    if Automatic.CROSS not in func.automatic:
        return func
    tree = core_tree(func)
    found = find_signals(func, tree, target)
    return func.with_body(written(tree, found)) if found.plan.ops else func


def find_signals(func: Func, tree: Tree, target: Target) -> Allocation:
    """Return the signals that order the cores, with their flags."""
    found = find_dependences(func, tree) if Automatic.CROSS in func.automatic else []
    if not found:
        return Allocation(Plan())
    signals = needed_signals(core_flow_graph(tree, found), propose(tree, found), found)
    signals = [*signals, *_throttles(signals, tree.ranges)]
    limit = target.cross_counter_limit
    return allocate_counters(signals, tree.root, target.compiler_cross_flags, limit)


@dataclass(frozen=True, slots=True)
class _Passing:
    """Where one core sets a flag and the other awaits it, `count` times: a signal, or its credits
    at their home. The awaiting core may be `lead` iterations ahead of the setting one."""

    source: Place
    sink: Place
    block: Block
    after: int
    before: int
    count: int
    lead: int = 1


def _passings(s: Counter) -> Iterator[_Passing]:
    yield _Passing(s.source, s.target, s.block, s.set_after, s.wait_before, 1, max(1, s.distance))
    if s.carried:
        home = s.home()
        place = home.position
        yield _Passing(s.source, s.target, home.block, place, place, s.distance)


def _throttles(signals: Sequence[Counter], known: Ranges) -> list[Counter]:
    """Credits for loops in which the source of a signal never waits for its sink; such a credit may
    need one of its own, where the signal is given in some iterations only."""
    result: dict[tuple[Place, Place, Repeat], Counter] = {}
    passings = [p for s in signals for p in _passings(s)]
    # Who sets most at a time may be the fewest iterations ahead, which holds for the others too.
    waiting = sorted(passings, key=lambda p: -p.count)
    for p in waiting:
        loop = p.block.loop
        if loop is None or _most_iterations(loop, known) * p.count <= AHEAD:
            continue
        # The blocks that run as often as the body of the loop, or more seldom.
        around = [b for b in p.block.outward() if b.depth >= loop.body.depth]
        more = (q for r in result.values() for q in _passings(r))
        if any(
            back.source is p.sink
            and back.sink is p.source
            and back.lead * p.count <= AHEAD
            and _runs_with(back.block, around, known)
            and not _left_out(back, p, loop)
            for back in (*passings, *more)
        ):
            continue
        new = credit(p.sink, p.source, loop, max(1, AHEAD // p.count))
        if result.setdefault((p.source, p.sink, loop), new) is new:
            waiting.extend(_passings(new))
    return list(result.values())


def _runs_with(inner: Block, around: Sequence[Block], known: Ranges) -> bool:
    """Whether a block runs whenever these do: as one of them, or in loops that surely run."""
    for block in inner.outward():
        if block in around:
            return True
        match block.owner:
            case Repeat(stmt=For(start=start, stop=stop)):
                if _breaking_places(block) or interval(stop - start, known).low < 1:
                    return False
            case _:
                return False
    return False


def _left_out(back: _Passing, passing: _Passing, loop: Repeat) -> bool:
    """Whether an iteration of a loop that begins again and again may give a signal and break before
    the signal back: no number of such iterations is held back."""
    if loop.block.loop is None:
        return False
    block, places = loop.body, _breaking_places(loop.body)
    if back.block is not block:
        return bool(places)
    for place in places:
        passed = passing.block is not block or passing.after < place or passing.before <= place
        if passed and not (back.after < place or back.before <= place):
            return True
    return False


def _breaking_places(block: Block) -> list[int]:
    """The places of a loop's body at which it may be left."""

    def breaks(item: Item) -> bool:
        inner = () if isinstance(item, Repeat) else item.blocks
        return isinstance(item.stmt, Break) or any(breaks(i) for b in inner for i in b.items)

    return [item.position for item in block.items if breaks(item)]


def _most_iterations(inner: Repeat, known: Ranges) -> float:
    """The most iterations of a loop's body in the whole kernel."""
    iterations = 1.0
    for loop in inner.body.loops():
        if not isinstance(loop.stmt, For):
            return float("inf")
        iterations *= max(0, interval(loop.stmt.stop - loop.stmt.start, known).high)
    return iterations
