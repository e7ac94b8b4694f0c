"""Compute the touches of each block of a task in gm: places along each dimension of a tensor, from
the final text, with the number of the block put in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

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
    walk_expr,
)
from tile_ir.analysis import (
    EVERYTHING,
    Interval,
    Ranges,
    interval,
    launch_ranges,
    regions_of,
    walk_with_ranges,
)
from tile_ir.expr import substitute

# Blocks of one task that are looked at one by one, and places of one block.
MOST_BLOCKS, MOST_VALUES = 128, 32


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
class TaskAccess:
    """A part of a tensor that a task touches, by definitions and intervals around it."""

    tensor: Buffer
    region: Region
    writes: bool
    known: Ranges
    block: Var

    def places(self, number: int) -> list[tuple[Span, ...]]:
        """Where it lies for one block: for each value of those variables that decide it other than
        as terms of a sum, if these are few."""
        here = {self.block: Const(number, self.block.dtype)}
        known = {**self.known, self.block: Interval.exactly(number)}
        offsets = [simplify(substitute(s.offset, here)) for s in self.region.dims]
        named = _few_values(offsets, known)
        found: dict[tuple[Span, ...], None] = {}
        for values in product(*named.values()):
            at = dict(zip(named, map(Const, values, (v.dtype for v in named)), strict=True))
            inside = {**known, **{v: Interval.exactly(int(c.value)) for v, c in at.items()}}
            spans = (
                _span(simplify(substitute(o, at)) if at else o, s.extent, s.stride, inside)
                for o, s in zip(offsets, self.region.dims, strict=True)
            )
            found[tuple(spans)] = None
        return list(found)

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


def _few_values(offsets: Sequence[Expr], known: Ranges) -> dict[Var, range]:
    """The values of the variables in parts that are no terms of a sum."""
    parts = (part for o in offsets for part in linear_form(o)[0] if not isinstance(part, Var))
    inside = dict.fromkeys(v for part in parts for v in walk_expr(part) if isinstance(v, Var))
    found: dict[Var, range] = {}
    many = 1.0
    for var in inside:
        values = known.get(var, EVERYTHING)
        many *= values.high - values.low + 1
        if not many <= MOST_VALUES:
            return {}
        found[var] = range(int(values.low), int(values.high) + 1)
    return found


def conflicts(
    first: Sequence[TaskAccess], then: Sequence[TaskAccess], counts: tuple[int, int]
) -> list[frozenset[int]]:
    """For each block of the second of two tasks with so many blocks, those of the first that touch
    what it touches, where one of the two writes."""
    everything = frozenset(range(counts[0]))
    pairs = [(a, b) for a in first for b in then if a.tensor is b.tensor and (a.writes or b.writes)]
    if pairs and (max(counts) > MOST_BLOCKS or not all(_comparable(*pair) for pair in pairs)):
        return [everything] * counts[1]
    before = {id(a): [a.places(m) for m in range(counts[0])] for a, _ in pairs}
    later = {id(b): [b.places(n) for n in range(counts[1])] for _, b in pairs}
    found: list[frozenset[int]] = []
    for n in range(counts[1]):
        met: set[int] = set()
        for a, b in pairs:
            mine = later[id(b)][n]
            met.update(
                m for m in everything - met
                if any(not _apart(x, y) for x in before[id(a)][m] for y in mine)
            )  # fmt: skip
        found.append(frozenset(met))
    return found


def _comparable(a: TaskAccess, b: TaskAccess) -> bool:
    """Whether the first indices of two descriptions of a tensor count the same parts."""
    one, other = a.region.buffer, b.region.buffer
    return one is other or (
        bool(one.shape) and bool(other.shape) and one.shape[0] == other.shape[0]
    )


def _apart(x: tuple[Span, ...], y: tuple[Span, ...]) -> bool:
    dims = zip(x, y, strict=True) if len(x) == len(y) else zip(x[:1], y[:1], strict=True)
    return any(a.apart(b) for a, b in dims)
