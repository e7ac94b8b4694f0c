"""From where to where in the text each buffer holds a value somebody may still read.

Positions number statements in textual order. A range is one interval, closed on both sides; values
that go round a loop make it cover the whole loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tile_ir import Buffer, For, If, Op, Section, Store, While
from tile_ir.expr import constant_value
from tile_ir.nodes import Body, Break, Stmt
from tile_ir.opdef import accesses
from tile_ir.walk import bodies, loads


@dataclass(frozen=True, slots=True)
class LiveRange:
    """First and last position."""

    first: int
    last: int

    def meets(self, other: LiveRange) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class _Access:
    """`certain` are the enclosing loops that reach the access in every iteration; `defines` says
    that all of the buffer is written and nothing of it read."""

    position: int
    loops: tuple[int, ...]
    certain: frozenset[int]
    defines: bool


@dataclass(slots=True)
class _Text:
    """A function's text, numbered."""

    count: int = 0
    accesses: dict[Buffer, list[_Access]] = field(default_factory=dict)
    spans: dict[int, LiveRange] = field(default_factory=dict)
    left_early: set[int] = field(default_factory=set)

    def number(self, body: Body, loops: tuple[int, ...], certain: frozenset[int]) -> None:
        for stmt in body:
            self.count += 1
            position = self.count
            for buffer, defines in _touched(stmt):
                access = _Access(position, loops, certain, defines)
                self.accesses.setdefault(buffer, []).append(access)
            match stmt:
                case For(body=inner) | While(body=inner):
                    here = (*loops, position)
                    always = certain if _runs(stmt) else frozenset[int]()
                    self.number(inner, here, always | {position})
                    self.count += 1
                    self.spans[position] = LiveRange(position, self.count)
                case If():
                    for branch in bodies(stmt):
                        self.number(branch, loops, frozenset())
                case Section(body=inner):
                    self.number(inner, loops, certain)
                case Break():
                    self.left_early.add(loops[-1])


def _runs(stmt: Stmt) -> bool:
    """Whether a loop surely runs at least once."""
    if not isinstance(stmt, For):
        return False
    start, stop = constant_value(stmt.start), constant_value(stmt.stop)
    return start is not None and stop is not None and start < stop


def _touched(stmt: Stmt) -> Iterator[tuple[Buffer, bool]]:
    """Buffers a statement itself touches, and whether it defines them."""
    read = {load.buffer for load in loads(stmt)}
    written: dict[Buffer, bool] = {}
    if isinstance(stmt, Op):
        for region, access in accesses(stmt):
            whole = access.writes and not access.reads and region.is_whole()
            written[region.buffer] = written.get(region.buffer, True) and whole
    elif isinstance(stmt, Store):
        written[stmt.buffer] = False
    yield from ((b, False) for b in read)
    yield from ((b, whole) for b, whole in written.items() if b not in read)


def live_ranges(body: Body) -> dict[Buffer, LiveRange]:
    """The live range of every buffer the body touches.

    A buffer that a loop touches is live all through it, unless every iteration begins by writing
    all of the buffer: loops may run zero times, and what an iteration leaves the next may read.
    """
    text = _Text()
    text.number(body, (), frozenset())
    return {buffer: _range(found, text) for buffer, found in text.accesses.items()}


def _range(found: list[_Access], text: _Text) -> LiveRange:
    first, last = found[0].position, found[-1].position
    for loop in {loop for access in found for loop in access.loops}:
        entry = next(a for a in found if loop in a.loops)
        if entry.defines and loop in entry.certain and loop not in text.left_early:
            continue
        span = text.spans[loop]
        first, last = min(first, span.first), max(last, span.last)
    return LiveRange(first, last)
