"""Write signals into a kernel as cross-core flags.

`counters` finds the signals, `counter_ids` their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tile_ir import (
    OPS,
    Body,
    Break,
    Const,
    Core,
    Func,
    If,
    Loc,
    Op,
    Pipe,
    Region,
    Stmt,
    with_bodies,
)
from tile_passes.order.core_blocks import Block
from tile_passes.order.counters import Signal, open_signals
from tile_passes.streams.items import Item, closed

Place = tuple[Block, int]


def written(func: Func, root: Block, ids: Mapping[Signal, int]) -> Func:
    """The function with a set and a wait for every signal."""
    writer = _Writer(ids)
    for s in ids:
        writer.before.setdefault((s.block, s.before), []).append(s)
        writer.after.setdefault((s.block, s.after), []).append(s)
        if s.home is not None:
            writer.at_home.setdefault((s.home, s.home_place), []).append(s)
    return func.with_body(writer.block(root))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Signals by the places of their sets, waits and credits."""

    ids: Mapping[Signal, int]
    before: dict[Place, list[Signal]] = field(default_factory=dict)
    after: dict[Place, list[Signal]] = field(default_factory=dict)
    at_home: dict[Place, list[Signal]] = field(default_factory=dict)

    def block(self, block: Block, within: Core = Core.EITHER) -> Body:
        result: list[Item] = []
        for place, item in enumerate(block.items):
            here = block, place
            for s in self.at_home.get(here, ()):
                result.extend(self.set(s, item.stmt.loc) * s.ahead)
            for s in self.before.get(here, ()):
                result.extend(self.wait(s, item.stmt.loc))
            result.append(self.item(item, place, block))
            for s in self.after.get(here, ()):
                result.extend(self.set(s, item.stmt.loc))
            for s in self.at_home.get(here, ()):
                result.extend(self.wait(s, item.stmt.loc) * s.ahead)
        return closed(result, within)

    def item(self, item: Item, place: int, block: Block) -> Item:
        inner = block.inner.get(place)
        if inner is None:
            return item
        bodies = [self.block(b, item.core) for b in inner]
        if isinstance(item.stmt, If):
            bodies = [self.leaving(body, place, block) for body in bodies]
        return replace(item, stmt=with_bodies(item.stmt, tuple(bodies)))

    def leaving(self, body: Body, place: int, block: Block) -> Body:
        """A branch that may leave the loop does before what the rest of the round would have."""
        if not any(isinstance(stmt, Break) for stmt in body):
            return body
        missing: list[Stmt] = []
        for signal, is_set in open_signals(self.ids, block, place):
            part = self.wait(signal, body[0].loc) if is_set else self.set(signal, body[0].loc)
            missing.extend(closed(part))
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Break):
                result.extend(missing)
            result.append(stmt)
        return tuple(result)

    def set(self, signal: Signal, loc: Loc) -> list[Item]:
        mode = 1 if signal.source is signal.sink else 2
        flag = Const(self.ids[signal])
        op = Op(OPS["set_cross_flag"], (flag,), (signal.pipe.value, mode), loc)
        found = [Item(op, signal.source, 0)]
        stored = _stored_by_scalar(signal)
        if stored is not None:
            found.insert(0, Item(_cache(stored, loc), signal.source, 0))
        return found

    def wait(self, signal: Signal, loc: Loc) -> list[Item]:
        op = Op(OPS["wait_cross_flag"], (Const(self.ids[signal]),), ("",), loc)
        found = [Item(op, signal.sink, 0)]
        loaded = _loaded_by_scalar(signal)
        if loaded is not None:
            found.append(Item(_cache(loaded, loc), signal.sink, 0))
        return found


def _stored_by_scalar(signal: Signal) -> Region | None:
    """What the scalar unit has stored, and must leave its cache before others hear of it."""
    return next(
        (d.earlier.region for d in signal.covers if d.earlier.pipe is Pipe.S and d.earlier.writes),
        None,
    )


def _loaded_by_scalar(signal: Signal) -> Region | None:
    """What the scalar unit is about to load, of which its cache may have an old copy."""
    return next(
        (
            d.later.region
            for d in signal.covers
            if d.later.pipe is Pipe.S and not d.later.writes and d.earlier.writes
        ),
        None,
    )


def _cache(region: Region, loc: Loc) -> Op:
    whole = Region.whole(region.buffer)
    attrs = ("entire_data_cache", "cacheline_out")
    return Op(OPS["datacachecleanandinvalid_experiment"], (whole,), attrs, loc)
