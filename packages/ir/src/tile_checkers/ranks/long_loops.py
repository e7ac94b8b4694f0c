"""Shorten loops over data whose iterations differ in places only.

One iteration stands for all in the middle, with the accesses of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tile_checkers.loop_facts import CROSS, effects_in
from tile_checkers.ranks.core_numbers import Figure
from tile_ir import (
    Binary,
    Break,
    Buffer,
    Effect,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Region,
    Stmt,
    Store,
    Var,
    While,
    linear_form,
    map_region,
    reads_memory,
    resolved,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis.accesses import regions_of
from tile_ir.ranks import is_symmetric

# Iterations that run as they are at both ends; flags are mostly chosen by whether an iteration is
# even.
FIRST, LAST = 2, 2
_WITH_OTHERS = CROSS | {
    Effect.SIGNAL, Effect.AWAIT_SIGNAL, Effect.ENGINE, Effect.AWAIT_ENGINE
}  # fmt: skip


# From where to where a place reaches, in each dimension.
Span = tuple[tuple[Figure, ...], tuple[Figure, ...]]


@dataclass(frozen=True, slots=True)
class MiddleIterations:
    """The iterations of a loop from `first` to `last`, for which the first one stands, and their
    joint accesses where the text has a region."""

    first: int
    last: int
    spans: Mapping[Region, tuple[Span, ...]]

    def turns(self, count: int) -> tuple[int, ...]:
        """The iterations that run."""
        return (*range(self.first + 1), *range(self.last + 1, count))


class LongLoops:
    """Which loops of a kernel may be shortened."""

    def __init__(self, lent: frozenset[Buffer] = frozenset()) -> None:
        self.lent = lent
        self.found: dict[int, Mapping[Region, Region] | None] = {}

    def regions(self, loop: For) -> Mapping[Region, Region] | None:
        """The regions of a loop's statements, each in terms of the loop variable alone where
        iterations differ; None if they differ in more."""
        if id(loop) not in self.found:
            self.found[id(loop)] = None if self.lends(loop) else _regions(loop)
        return self.found[id(loop)]

    def lends(self, loop: For) -> bool:
        """Whether iterations access memory that the engine may be using."""
        inside = walk_statements(loop.body)
        return any(r.buffer in self.lent for s in inside for r, *_ in regions_of(s))


def middle(count: int) -> tuple[int, int]:
    """The first and the last iteration for which one may stand."""
    first = FIRST + (count + FIRST + 1) % 2
    return first, count - LAST - 1


def spans_of(ends: list[Span], count: int) -> tuple[Span, ...] | None:
    """The spans of `count` iterations, from those of the first, the second and the last: one span
    if there are no gaps. None if the steps are not equal."""
    if any(isinstance(e, Expr) for span in ends for side in span for e in side):
        return None
    numbers = [tuple([int(e) for e in side if not isinstance(e, Expr)] for side in s) for s in ends]
    (lows, highs), (next_lows, _), (last_lows, last_highs) = numbers
    steps = [b - a for a, b in zip(lows, next_lows, strict=True)]
    sizes = [b - a for a, b in zip(lows, highs, strict=True)]
    if any(h - a != n for a, h, n in zip(last_lows, last_highs, sizes, strict=True)):
        return None
    if all(abs(step) <= size for step, size in zip(steps, sizes, strict=True)):
        least = tuple(min(a, b) for a, b in zip(lows, last_lows, strict=True))
        return ((least, tuple(max(a, b) for a, b in zip(highs, last_highs, strict=True))),)
    return tuple(
        (
            tuple(a + i * step for a, step in zip(lows, steps, strict=True)),
            tuple(b + i * step for b, step in zip(highs, steps, strict=True)),
        )
        for i in range(count)
    )


def _regions(loop: For) -> Mapping[Region, Region] | None:
    """The regions of symmetric tensors that the statements of a loop touch; None if iterations
    differ in more than the offsets along these."""
    inside = list(walk_statements(loop.body))
    if any(isinstance(s, (For, While, Break)) for s in inside):
        return None
    if not _WITH_OTHERS.isdisjoint(effects_in(loop)):
        return None
    if any(isinstance(s, Store) and s.buffer.memory is Memory.VAR for s in inside):
        return None
    lets = {s.var: s.value for s in inside if isinstance(s, Let)}
    if any(map(reads_memory, lets.values())):
        return None
    # What some iterations may leave out.
    guarded = {
        id(s)
        for i in inside
        if isinstance(i, If) and _names(resolved(i.condition, lets), loop.var)
        for s in walk_statements((i,))
    }
    found: dict[Region, Region] = {}
    for stmt in inside:
        for region in _shared(stmt):
            stated = map_region(region, lambda e: resolved(e, lets))
            if id(stmt) in guarded or not _moves(stated, loop.var):
                return None
            found[region] = stated
    return found


def _shared(stmt: Stmt) -> Iterator[Region]:
    if isinstance(stmt, Op) and stmt.opdef.effect is Effect.CACHE:
        return
    for region, *_ in regions_of(stmt):
        if region.memory is Memory.GM and is_symmetric(region.buffer):
            yield region


def _moves(region: Region, var: Var) -> bool:
    """Whether a region moves by equal steps from iteration to iteration, in one dimension."""
    moving = 0
    for i, s in enumerate(region.dims):
        if _names(s.offset, var):
            if i == 0 or not _linear(s.offset, var) or s.stride != 1:
                return False
            moving += 1
        if _names(s.extent, var) and not _cut_off(s.extent, var):
            return False
    return moving <= 1


def _linear(expr: Expr, var: Var) -> bool:
    terms, _ = linear_form(expr)
    return all(atom == var or not _names(atom, var) for atom in terms)


def _cut_off(extent: Expr, var: Var) -> bool:
    """Whether an extent is a fixed number, or a remainder: the same in the middle if it is that at
    both ends."""
    match extent:
        case Binary(op="min", left=a, right=b):
            return (_linear(a, var) and not _names(b, var)) or (
                _linear(b, var) and not _names(a, var)
            )
    return False


def _names(expr: Expr, var: Var) -> bool:
    return any(e == var for e in walk_expr(expr))


__all__ = ["LongLoops", "MiddleIterations", "middle", "spans_of"]
