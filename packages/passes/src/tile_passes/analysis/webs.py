"""Find the webs of the buffers on chip: the definitions and uses of a buffer that share values.

All definitions that reach one use are in one web. Another web of the buffer may have bytes of its
own. Liveness decides: definitions that reach a point where the buffer is live also reach its next
use. Where no byte of the buffer is live, its web ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import TypeAlias

from tile_ir import (
    Alloc,
    Body,
    Break,
    For,
    Func,
    Stmt,
    While,
    bodies,
    replace_own_buffers,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.liveness import Point, liveness, numbers_in
from tile_passes.free_names import FreeNames

# A buffer by number, and one of its webs.
Web: TypeAlias = tuple[int, int]
# The web whose value each buffer holds, by numbers; none for a buffer that holds nothing.
_Reaching: TypeAlias = dict[int, int]


@dataclass(frozen=True, slots=True)
class Webs:
    """For each statement, in textual order, the web of each buffer that it uses itself, by numbers.
    Webs of a buffer count from 0, in the order of the text; an alias is its buffer."""

    buffers: tuple[Alloc, ...]
    at: tuple[Mapping[int, int], ...]

    def renamed(self, func: Func, chosen: Set[Web]) -> Func:
        """The function with a new buffer for each of some webs."""
        names = FreeNames.of(func)
        new: dict[Web, Alloc] = {}
        for web in sorted(chosen):
            alloc = self.buffers[web[0]]
            buffer = replace(alloc.buffer, name=names.fresh(alloc.buffer.name))
            new[web] = replace(alloc, buffer=buffer)
        at = iter(self.at)

        def renamed(stmt: Stmt) -> Stmt:
            webs = [web for web in next(at).items() if web in new]
            here = {self.buffers[web[0]].buffer: new[web].buffer for web in webs}
            own = replace_own_buffers(stmt, here, {}) if here else stmt
            return with_bodies(own, tuple(map(body, bodies(stmt))))

        def body(old: Body) -> Body:
            return with_statements(old, map(renamed, old))

        return func.with_body(body(func.launch.body), allocs=(*func.launch.allocs, *new.values()))


def webs(allocs: Sequence[Alloc], body: Body) -> Webs:
    """Return the webs of the buffers on chip in a body."""
    live = liveness(allocs, body)
    found = _ReachingWebs(live.points)
    found.block(body, 0, {})
    numbers: dict[int, dict[int, int]] = {}
    at = []
    for uses in found.uses:
        here = {}
        for buffer, web in uses.items():
            of_buffer = numbers.setdefault(buffer, {})
            here[buffer] = of_buffer.setdefault(found.root(web), len(of_buffer))
        at.append(here)
    return Webs(live.buffers, tuple(at))


@dataclass(slots=True)
class _ReachingWebs:
    """The webs of each statement, as a forest: a web that is joined with another is below it."""

    points: Sequence[Point]
    uses: list[_Reaching] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    # What reaches the ends of the loops around, through breaks.
    left: list[_Reaching] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.uses = [{} for _ in self.points]

    def root(self, web: int) -> int:
        while self.above[web] != web:
            web = self.above[web]
        return web

    def join(self, one: _Reaching, other: Mapping[int, int]) -> _Reaching:
        """Join the webs that reach the point where two paths meet."""
        for buffer, web in other.items():
            if buffer in one:
                self.above[self.root(web)] = self.root(one[buffer])
        return {**other, **one}

    def block(self, body: Body, place: int, reaching: _Reaching) -> _Reaching:
        """Return the webs that reach the end of a block; its first statement has this place."""
        for stmt in body:
            self._own(place, reaching)
            inside = place + 1
            match stmt:
                case For() | While():
                    reaching = self._loop(stmt, place, reaching)
                case Break():
                    self.left[-1] = self.join(self.left[-1], reaching)
                    reaching = {}
                case _ if blocks := bodies(stmt):
                    ways = []
                    for block in blocks:
                        ways.append(self.block(block, inside, dict(reaching)))
                        inside += _length(block)
                    reaching = ways[0]
                    for way in ways[1:]:
                        reaching = self.join(reaching, way)
            needed = self.points[place].needed
            reaching = {b: web for b, web in reaching.items() if needed >> b & 1}
            place += _length((stmt,))
        return reaching

    def _loop(self, loop: For | While, place: int, before: _Reaching) -> _Reaching:
        self.left.append({})
        # A second time: what reaches the end reaches the start too.
        for _ in range(2):
            end = self.block(loop.body, place + 1, dict(before))
            before = self.join(before, end)
        if isinstance(loop, While):
            self._own(place, before)
        return self.join(before, self.left.pop())

    def _own(self, place: int, reaching: _Reaching) -> None:
        """Note the uses of a statement by itself; change what reaches the next."""
        point, uses = self.points[place], self.uses[place]
        for buffer in numbers_in(point.read | point.written):
            if buffer not in reaching or point.defined >> buffer & 1:
                # A definition keeps its web where a loop is gone through again.
                if buffer not in uses:
                    uses[buffer] = len(self.above)
                    self.above.append(len(self.above))
                reaching[buffer] = uses[buffer]
            elif buffer in uses:
                self.join({buffer: reaching[buffer]}, {buffer: uses[buffer]})
            uses[buffer] = reaching[buffer]


def _length(body: Body) -> int:
    return sum(1 for _ in walk(body))
