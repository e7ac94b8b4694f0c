"""Compute the live range of every buffer, in program points and bytes.

Backward: a byte is live if it may be read before it is surely written again (`gen_kill`). Forward:
a write may have come before. Loops may run zero times, branches may be skipped, `break` leaves
early. Not here: addresses, and which buffers share bytes (`memory`, `in_place`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import reduce
from operator import or_
from typing import NamedTuple

from tile_ir import (
    Alloc,
    Body,
    Break,
    Buffer,
    Effect,
    For,
    If,
    Let,
    Memory,
    Op,
    Section,
    Stmt,
    While,
    bodies,
    buffers_of,
    rewrite,
    walk,
    written_by,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.byte_sets import BufferStorage, ByteSet
from tile_passes.analysis.gen_kill import NOTHING, GenKill, storages_of
from tile_passes.analysis.live_ranges import LiveRange
from tile_passes.analysis.path_context import Path, PathContext, paths


class Point(NamedTuple):
    """A statement; as bits by the number of the buffer those that it reads, writes, and writes
    completely without reading them itself, and those live after it."""

    stmt: Stmt
    read: int
    written: int
    defined: int
    needed: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """Buffers by number, and statements in textual order. `ranges` are the points
    through which each buffer keeps its bytes."""

    buffers: tuple[Alloc, ...]
    points: tuple[Point, ...]
    ranges: tuple[LiveRange, ...]
    roots: dict[Buffer, int]

    def inside(self, memory: Memory) -> tuple[int, ...]:
        """The numbers of the buffers of one memory."""
        return tuple(i for i, a in enumerate(self.buffers) if a.buffer.memory is memory)


def liveness(allocs: Sequence[Alloc], body: Body) -> Liveness:
    """Return the live ranges of the on-chip buffers in a body; an alias is its buffer.

    Scratch holds nothing before the operation it was made for: its live range begins anew where
    the statements that use it begin, in each iteration of the loops around them.
    """
    allocs = [a for a in allocs if a.buffer.memory is not Memory.VAR]
    owners = tuple(a for a in allocs if a.alias_of is None)
    storages = storages_of(allocs)
    scratch = {b: s for b, s in storages.items() if owners[s.number].scratch}
    own, body = body, _distinct(body)
    live_after = _LiveAfter(GenKill.of(storages, body, _first_uses(body, scratch)))
    live_after.backward(body, PathContext(), NOTHING, NOTHING)
    pairs = zip(walk(own), walk(body), strict=True)
    points = {stmt: _point(at, stmt, live_after) for at, stmt in pairs}
    before: dict[Stmt, int] = {}
    _forward(body, 0, points, before)
    # A read of what nothing wrote means what the memory held before.
    unwritten = reduce(or_, (p.read & ~before[stmt] for stmt, p in points.items()), 0)
    held = [
        p.read | p.written | (p.needed & (before[stmt] | unwritten)) for stmt, p in points.items()
    ]
    ranges = _ranges(held, len(owners))
    return Liveness(
        owners, tuple(points.values()), ranges, {b: s.number for b, s in storages.items()}
    )


def carried_by_loops(
    allocs: Iterable[Alloc], body: Body, loops: Set[For]
) -> dict[For, set[Buffer]]:
    """For each of the loops the buffers, and scalar variables, whose value an iteration hands to a
    later one or on behind the loop, at some place of it."""
    if not loops:
        return {}
    storages = storages_of(allocs)
    own, body = body, _distinct(body)
    pairs = zip(walk(own), walk(body), strict=True)
    at = [(loop, copy) for loop, copy in pairs if isinstance(loop, For) and loop in loops]
    live_after = _LiveAfter(GenKill.of(storages, body, {}), {copy for _, copy in at})
    live_after.backward(body, PathContext(), NOTHING, NOTHING)
    found: dict[For, set[Buffer]] = defaultdict(set)
    for loop, copy in at:
        needed = live_after.needed[copy]
        found[loop].update([b for b, s in storages.items() if needed >> s.number & 1])
    return found


def _distinct(body: Body) -> Body:
    """The statements with a copy of each that stands at an earlier place too."""
    seen: set[Stmt] = set()

    def once(stmt: Stmt) -> Stmt:
        stmt = replace(stmt) if stmt in seen else stmt
        seen.add(stmt)
        return stmt

    return rewrite(body, once)


def _first_uses(body: Body, scratch: dict[Buffer, BufferStorage]) -> dict[Stmt, ByteSet]:
    """For each piece of scratch the first statement that uses it, in the innermost block that has
    all of its uses."""
    first: dict[BufferStorage, Path] = {}
    common: dict[BufferStorage, int] = {}
    for path in paths(body) if scratch else ():
        for buffer in buffers_of(path[-1][0]) & scratch.keys():
            storage = scratch[buffer]
            start = first.setdefault(storage, path)
            pairs = zip(start, path, strict=False)
            depth = next((d for d, (a, b) in enumerate(pairs) if a != b), len(path) - 1)
            common[storage] = min(depth, common.get(storage, depth))
    found: dict[Stmt, ByteSet] = defaultdict(ByteSet)
    for storage, depth in common.items():
        found[first[storage][depth][0]] |= ByteSet.whole([storage])
    return found


@dataclass(slots=True)
class _LiveAfter:
    """The buffers live after each statement, in any iteration of the loops around it; or only those
    after the statements that are `asked` for."""

    effects: GenKill
    asked: Set[Stmt] | None = None
    needed: dict[Stmt, int] = field(default_factory=lambda: defaultdict(int))

    def backward(self, body: Body, here: PathContext, after: ByteSet, after_loop: ByteSet) -> None:
        """Fill in a block, from the bytes live behind it and behind the loop around it."""
        effects = self.effects
        first = next((i for i, stmt in enumerate(body) if self._is_asked(stmt)), len(body))
        contexts = []
        for stmt in body if first < len(body) else ():
            contexts.append(here)
            here = here.after(stmt)
        for at in range(len(body) - 1, first - 1, -1):
            stmt, here = body[at], contexts[at]
            if self._is_asked(stmt):
                live = self._within(stmt, here, after, after_loop)
                self.needed[stmt] |= _bits(live.parts)
            after = effects.statement(stmt, here).live_before(after, after_loop)
            group = effects.group(body, at, here)
            if group is not None and group[1].written and group[1].broken is None:
                after -= group[1].written.apart_from(group[1].exposed)
            if isinstance(stmt, Let):
                after = after.without_variables((stmt.var,), whole=True)

    def _is_asked(self, stmt: Stmt) -> bool:
        """Whether the statement or one inside it is among the wanted ones."""
        if self.asked is None or stmt in self.asked:
            return True
        return any(inner in self.asked for block in bodies(stmt) for inner in walk(block))

    def _within(
        self, stmt: Stmt, here: PathContext, after: ByteSet, after_loop: ByteSet
    ) -> ByteSet:
        """Fill in the blocks of a statement; what is live after it, or at the ends of these."""
        effects, live = self.effects, after
        match stmt:
            case Break():
                return after_loop
            case For() | While():
                return self._loop(stmt, here, after)
            case If() | Section():
                ways = effects.ways(stmt, here) if isinstance(stmt, If) else bodies(stmt)
                for way in ways:
                    live |= effects.block(way, here).live_before(after, after_loop)
                    self.backward(way, here, after, after_loop)
        return live

    def _loop(self, loop: For | While, here: PathContext, after: ByteSet) -> ByteSet:
        """Fill in the body of a loop, which ends at the head; what is live there."""
        effects = self.effects
        first = later = here
        own = effects.own(loop, here).exposed if isinstance(loop, While) else NOTHING
        if isinstance(loop, For):
            first, later = effects.iterations(loop, here)
        entered = [effects.block(loop.body, now).exposed for now in (first, later)]
        if isinstance(loop, For):
            trips = constant_trips(loop, here.lets)
            entered = [effects.swept(loop, exposed, here, trips) for exposed in entered]
        head = after | entered[1] | own
        for now in (first, later) if first is not later else (first,):
            self.backward(loop.body, now, head, after)
        return head | entered[0]


def _point(own: Stmt, stmt: Stmt, live_after: _LiveAfter) -> Point:
    effects = live_after.effects
    found, storages = effects.own(stmt, PathContext()), effects.storages
    read, defined = _bits(found.exposed.parts), 0
    if isinstance(stmt, Op) and stmt.opdef.effect is Effect.DATA and found.written:
        defined = _bits([s for s in found.written.parts if found.written.covers(s)]) & ~read
    written = _bits({storages[b] for b in written_by(stmt) if b in storages})
    return Point(own, read, written, defined, live_after.needed[stmt])


def _forward(body: Body, reached: int, uses: Mapping[Stmt, Point], before: dict[Stmt, int]) -> int:
    """Fill in which buffers may have been written before each statement; return those that may have
    been behind the body."""
    for stmt in body:
        if isinstance(stmt, (For, While)):
            for inner in walk(stmt.body):
                reached |= uses[inner].written
        before[stmt] = reached
        start = reached = reached | uses[stmt].written
        for block in bodies(stmt):
            reached |= _forward(block, start, uses, before)
    return reached


def _bits(storages: Collection[BufferStorage]) -> int:
    """Those of different storages."""
    return sum([1 << storage.number for storage in storages]) if storages else 0


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _ranges(held: Sequence[int], count: int) -> tuple[LiveRange, ...]:
    result: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    start = [0] * count
    before = 0
    for position, now in enumerate((*held, 0)):
        for number in numbers_in(before ^ now):
            if now >> number & 1:
                start[number] = position
            else:
                result[number].append((start[number], position - 1))
        before = now
    return tuple(map(tuple, result))
