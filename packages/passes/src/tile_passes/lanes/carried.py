"""Whether the rounds of a loop are independent of each other as far as one buffer goes: each gives
it a value before it reads it, and nobody reads it behind the loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tile_ir import Buffer, For, If, Memory, Op, Section
from tile_ir.nodes import Body, Break, Let, Stmt, While
from tile_ir.opdef import Access, element_limit, overwriting
from tile_ir.walk import bodies, buffers_of
from tile_passes.lanes.places import (
    Names,
    Round,
    Single,
    Touch,
    Whole,
    touches_of,
    trips,
    with_name,
)


@dataclass(slots=True)
class Lifetime:
    """Backward over the whole function for one buffer: is its value needed at a point?"""

    buffer: Buffer
    # Whether all accesses are to one and the same part, which is then all there is of the buffer.
    one_part: bool = False
    # Loops at whose end, or at the beginning of whose rounds, the value is needed.
    kept: set[For] = field(default_factory=set)

    def run(self, body: Body) -> set[For]:
        self._before(body, False, False, (), {})
        return self.kept

    def _before(
        self, body: Body, after: bool, broken: bool, loops: tuple[For, ...], names: Names
    ) -> bool:
        known = [names]
        for stmt in body:
            known.append(with_name(known[-1], stmt) if isinstance(stmt, Let) else known[-1])
        for stmt, visible in zip(reversed(body), reversed(known[:-1]), strict=True):
            after = self._step(stmt, after, broken, loops, visible)
        return after

    def _step(
        self, stmt: Stmt, after: bool, broken: bool, loops: tuple[For, ...], names: Names
    ) -> bool:
        match stmt:
            case Break():
                return broken
            case If(then=then, orelse=orelse):
                needed = [self._before(b, after, broken, loops, names) for b in (then, orelse)]
                return any(needed) or self._reads(stmt)
            case Section(body=body):
                return self._before(body, after, broken, loops, names)
            case While(body=body):
                head = after or self._reads(stmt)
                if self._before(body, head, after, loops, names) and not head:
                    head = self._before(body, True, after, loops, names)
                return head
            case For():
                return self._loop(stmt, after, loops, names) or self._reads(stmt)
        own = touches_of(self.buffer, stmt, loops, names)
        if any(_needs(stmt, t) for t in own):
            return True
        return after and not any(_fills(stmt, t, (), self.one_part) for t in own)

    def _loop(self, loop: For, after: bool, loops: tuple[For, ...], names: Names) -> bool:
        inside = (*loops, loop)
        head = self._before(loop.body, after, after, inside, names)
        if head and not after:
            head = self._before(loop.body, True, after, inside, names)
        if head or after:
            self.kept.add(loop)
        if _filled_by(loop, self.buffer, loops, names):
            return False
        return head if (trips(loop) or 0) > 0 else head or after

    def _reads(self, stmt: Stmt) -> bool:
        return self.buffer in buffers_of(stmt)


def _needs(stmt: Stmt, touch: Touch) -> bool:
    """Whether what was there before makes a difference to what is computed."""
    forgets = isinstance(stmt, Op) and overwriting(stmt) is True
    return touch.access is Access.READ or (touch.access is Access.READ_WRITE and not forgets)


def _fills(stmt: Stmt, touch: Touch, around: tuple[For, ...], one_part: bool = False) -> bool:
    """Whether every element gets a value, in all rounds of the loops `around` together."""
    if not touch.access.writes or _needs(stmt, touch):
        return False
    if touch.buffer.memory is Memory.VAR or one_part:
        return True
    if isinstance(stmt, Op) and (element_limit(stmt) is not None or stmt.opdef.uses is not None):
        return False
    rounds = [p.loop for p in touch.places if isinstance(p, Round)]
    others = [p for p in touch.places if not isinstance(p, Round)]
    return (
        len(set(rounds)) == len(rounds)
        and all(loop in around for loop in rounds)
        and all(isinstance(p, (Whole, Single)) for p in others)
    )


def _filled_by(loop: For, buffer: Buffer, loops: tuple[For, ...], names: Names) -> bool:
    """Whether a loop gives every element of the buffer a value before it reads it: the first that
    touches it writes the element of the round, and all others touch the same one."""
    own = list(_in_body((loop,), buffer, loops, (), names))
    if not own:
        return False
    stmt, nest = own[0][0], own[0][2]
    written = [t for s, t, _ in own if s is stmt and t.access.writes]
    if nest is None or len(written) != 1 or not _fills(stmt, written[0], nest):
        return False
    reads_itself = any(s is stmt and t is not written[0] for s, t, _ in own)
    return not reads_itself and all(t.places == written[0].places for _, t, _ in own)


def _in_body(
    body: Body,
    buffer: Buffer,
    loops: tuple[For, ...],
    nest: tuple[For, ...] | None,
    names: Names,
) -> Iterator[tuple[Stmt, Touch, tuple[For, ...] | None]]:
    """Accesses of a buffer in textual order, with the loops of the nest around them; None for these
    where something else than loops that surely go round stands between."""
    for stmt in body:
        if isinstance(stmt, Let):
            names = with_name(names, stmt)
        for touch in touches_of(buffer, stmt, loops, names):
            yield stmt, touch, nest
        if isinstance(stmt, For):
            inner = None if nest is None or not trips(stmt) else (*nest, stmt)
            yield from _in_body(stmt.body, buffer, (*loops, stmt), inner, names)
        else:
            for other in bodies(stmt):
                yield from _in_body(other, buffer, loops, None, names)
