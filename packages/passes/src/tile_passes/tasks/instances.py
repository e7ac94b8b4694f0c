"""Compute the touches of each block of a task in gm: places along each dimension of a tensor, from
the final text, with the number of the block put in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tile_ir import (
    Buffer,
    Const,
    Expr,
    Func,
    Let,
    Memory,
    Region,
    Var,
    constant_value,
    linear_form,
    reads_memory,
    simplify,
)
from tile_ir.analysis import Interval, Ranges, interval, launch_ranges, regions_of, walk_with_ranges
from tile_ir.expr import substitute

# Blocks of one task that are looked at one by one.
MOST_BLOCKS = 96


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part lies along a dimension: in [low, high), and so many elements from `start` on, or
    from any multiple of `step` further; nothing is known of those where `step` is 1."""

    low: float
    high: float
    start: int
    step: int
    extent: float

    def apart(self, other: Span) -> bool:
        """Whether the two have no place in common."""
        if self.high <= other.low or other.high <= self.low:
            return True
        step = math.gcd(self.step, other.step)
        if step == 0:
            return False
        distance = (other.start - self.start) % step
        return self.extent <= distance and distance + other.extent <= step


@dataclass(frozen=True, slots=True)
class Counts:
    """How many blocks two tasks have, and the launch; and of how many blocks of the launch the
    second begins behind the first."""

    first: int
    then: int
    blocks: int
    behind: int = 0


@dataclass(frozen=True, slots=True)
class TaskAccess:
    """A part of a tensor that a task touches, by definitions and intervals around it."""

    tensor: Buffer
    region: Region
    writes: bool
    known: Ranges
    block: Var

    def spans(self, number: int) -> tuple[Span, ...]:
        """Where it lies for one block."""
        here = {self.block: Const(number, self.block.dtype)}
        known = {**self.known, self.block: Interval.exactly(number)}
        return tuple(
            _span(simplify(substitute(s.offset, here)), s.extent, s.stride, known)
            for s in self.region.dims
        )

    @property
    def by_data(self) -> bool:
        """Whether data decides where it lies."""
        return any(reads_memory(s.offset) for s in self.region.dims)


def accesses_of(task: Func) -> list[TaskAccess]:
    """All that a task touches in gm."""
    return list(_accesses(task))


def _accesses(task: Func) -> Iterator[TaskAccess]:
    roots = {a.buffer: a.alias_of for a in task.launch.allocs if a.alias_of is not None}
    block = task.launch.block
    values: dict[Var, Expr] = {}
    for stmt, known in walk_with_ranges(task.launch.body, launch_ranges(task)):
        if isinstance(stmt, Let):
            values[stmt.var] = substitute(stmt.value, values)
        for region, access, _, _ in regions_of(stmt):
            if region.memory is Memory.GM:
                tensor = roots.get(region.buffer) or region.buffer
                placed = _put_in(region, values)
                yield TaskAccess(tensor, placed, access.writes, known, block)


def _put_in(region: Region, values: dict[Var, Expr]) -> Region:
    dims = (type(s)(substitute(s.offset, values), s.extent, s.stride) for s in region.dims)
    return Region(region.buffer, tuple(dims))


def _span(offset: Expr, extent: Expr, stride: int, known: Ranges) -> Span:
    first = interval(offset, known)
    most = interval(extent, known).high
    reach = (most - 1) * stride + 1
    terms, start = linear_form(offset)
    whole = all(isinstance(part, Var) or constant_value(part) is not None for part in terms)
    step = math.gcd(*(abs(int(f)) for f in terms.values())) if terms and whole else 0
    return Span(first.low, first.high + reach, int(start), step if whole else 1, reach)


def own_only(first: Sequence[TaskAccess], then: Sequence[TaskAccess], counts: Counts) -> bool:
    """Whether no block touches what a task with another number, counted by blocks of the launch,
    has touched before: then the order of each block is enough."""
    if counts.first > MOST_BLOCKS or counts.then > MOST_BLOCKS:
        return False
    pairs = [(a, b) for a in first for b in then if _conflict(a, b)]
    if any(not _comparable(a.region.buffer, b.region.buffer) for a, b in pairs):
        return False
    places = {id(a): [a.spans(n) for n in range(counts.first)] for a in first}
    later = {id(b): [b.spans(n) for n in range(counts.then)] for b in then}
    return all(
        (n - m - counts.behind) % counts.blocks == 0 or _apart(x, y)
        for a, b in pairs
        for n, x in enumerate(places[id(a)])
        for m, y in enumerate(later[id(b)])
    )


def _conflict(a: TaskAccess, b: TaskAccess) -> bool:
    return a.tensor is b.tensor and (a.writes or b.writes)


def _comparable(a: Buffer, b: Buffer) -> bool:
    """Whether the first indices of two descriptions of a tensor count the same parts."""
    return a is b or (bool(a.shape) and bool(b.shape) and a.shape[0] == b.shape[0])


def _apart(x: tuple[Span, ...], y: tuple[Span, ...]) -> bool:
    dims = zip(x, y, strict=True) if len(x) == len(y) else zip(x[:1], y[:1], strict=True)
    return any(a.apart(b) for a, b in dims)
