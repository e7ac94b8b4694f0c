"""Signals that order the cores: where each is set and awaited, and how many are ahead.

A signal is set by one kind of core right behind a place of a block, once the earlier work of one
pipe is complete, and awaited by another right before a place of the same block, so that both cores
pass them equally often. One that is carried by a loop is a credit: `ahead` of them are set before
the loop, and the last ones awaited behind it. Not here: which signals are needed (`completion`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tile_ir import Core, KernelError, Pipe
from tile_passes.order.core_blocks import Block, Leaf
from tile_passes.order.core_dependences import Dependence, common_block, place_in


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """`after` and `before` are places of `block`; `home` and `home_place` say around what the
    credits of a carried signal are set and awaited. `covers` is what asked for it."""

    source: Core
    sink: Core
    pipe: Pipe
    block: Block
    after: int
    before: int
    ahead: int = 0
    home: Block | None = None
    home_place: int = 0
    covers: tuple[Dependence, ...] = field(default=())

    @property
    def carried(self) -> bool:
        return self.ahead > 0

    @property
    def kind(self) -> tuple[Core, Core, Pipe]:
        return self.source, self.sink, self.pipe


def propose(found: Iterable[Dependence]) -> list[Signal]:
    """A signal for every dependence, right behind its source and right before its sink; equal ones
    are one.

    Raises KernelError where a dependence lies inside of what one core does by itself.
    """
    by_place: dict[tuple[object, ...], Signal] = {}
    for d in found:
        signal = _carried(d) if d.loop is not None else _forward(d)
        key = (*signal.kind, id(signal.block), signal.after, signal.before, signal.carried)
        old = by_place.get(key)
        if old is not None:
            ahead = min(old.ahead, signal.ahead)
            signal = replace(signal, ahead=ahead, covers=(*old.covers, *signal.covers))
        by_place[key] = signal
    merged = [_at_home(s) if s.carried else s for s in by_place.values()]
    # Of those awaited at one place the one that is set last tells most.
    return sorted(merged, key=lambda s: (s.carried, s.before, -s.after))


def _forward(d: Dependence) -> Signal:
    block = _common_knowledge(common_block(d.earlier.leaf, d.later.leaf))
    after, before = place_in(d.earlier.leaf, block), place_in(d.later.leaf, block)
    if after == before and d.later.leaf.block is not block:
        raise _inside(d.earlier.leaf, d.later.leaf, d)
    return Signal(d.source, d.sink, _pipe(d), block, after, before, covers=(d,))


def _carried(d: Dependence) -> Signal:
    assert d.loop is not None, "asked before"
    block = d.loop
    if _common_knowledge(block) is not block:
        raise _inside(d.earlier.leaf, d.later.leaf, d)
    after, before = place_in(d.earlier.leaf, block), place_in(d.later.leaf, block)
    return Signal(d.source, d.sink, _pipe(d), block, after, before, max(1, d.distance), covers=(d,))


def _pipe(d: Dependence) -> Pipe:
    """The pipe whose earlier work must be complete; the scalar unit signals behind a barrier."""
    pipe = d.earlier.pipe
    return Pipe.MTE3 if pipe is Pipe.S else pipe


def _common_knowledge(block: Block) -> Block:
    """The innermost block around, and it itself, that all cores run equally often."""
    last = block
    for outer, _ in block.chain():
        if outer.private:
            assert outer.parent is not None, "the outermost block is everybody's"
            last = outer.parent
    return last


def _at_home(signal: Signal) -> Signal:
    """A carried signal with the place of its credits: right around the loop; for a single credit
    around everything, since the last one of a run is as good as the first of the next."""
    block = signal.block
    home, place = block.parent, block.place
    assert home is not None, "a loop stands in a block"
    if signal.ahead == 1:
        for outer, at in block.chain():
            if at is not None:
                home, place = outer, at
    return replace(signal, home=home, home_place=place)


def open_signals(
    signals: Iterable[Signal], block: Block, place: int
) -> Iterator[tuple[Signal, bool]]:
    """The signals of which only one part stands before a place, in the blocks from there to the
    loop around: True if it is the set."""
    known = list(signals)
    level: Block | None = block
    while level is not None:
        for s in known:
            is_set, awaited = s.after < place, s.before <= place
            if s.block is level and is_set != awaited:
                yield s, is_set
        if level.is_loop:
            return
        place, level = level.place, level.parent


def throttle(source: Core, sink: Core, loop: Block, ahead: int) -> Signal:
    """A credit for every round of a loop: the sink is at most so many ahead of the source."""
    credit = Signal(source, sink, Pipe.MTE2, loop, len(loop.items) - 1, 0, ahead)
    last = [(outer, at) for outer, at in loop.chain() if at is not None]
    home, place = last[-1]
    assert place is not None, "there is a block around"
    return replace(credit, home=home, home_place=place)


def _inside(a: Leaf, b: Leaf, d: Dependence) -> KernelError:
    name = d.earlier.region.buffer.name
    return KernelError(
        "handover-inside",
        f"`{name}` is handed from the {d.source.value} core (line {a.stmt.loc.line}) to the "
        f"{d.sink.value} core inside a loop or branch that only one core, or each vector core for "
        "itself, can decide",
        b.stmt.loc,
        "hand it over outside, or decide by what is in gm or known at the launch",
    )
