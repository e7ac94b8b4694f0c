"""Whether the rounds of a loop are independent of each other as far as one buffer goes: each gives
it a value before it reads it, and nobody reads it behind the loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tile_ir import (
    Access,
    Body,
    Break,
    For,
    If,
    Memory,
    Op,
    Section,
    Stmt,
    While,
    bodies,
    element_limit,
    overwriting,
)
from tile_passes.lanes.places import Round, Single, Touch, Whole, trips

# The accesses of one buffer, by the statement that makes them.
Touches = Mapping[Stmt, Sequence[Touch]]


@dataclass(slots=True)
class Lifetime:
    """Backward over the whole function for one buffer: is its value needed at a point?"""

    touches: Touches
    # Whether all accesses are to one and the same part, which is then all there is of the buffer.
    one_part: bool = False
    # Loops at whose end, or at the beginning of whose rounds, the value is needed.
    kept: set[For] = field(default_factory=set)

    def run(self, body: Body) -> set[For]:
        self._before(body, False, False)
        return self.kept

    def _before(self, body: Body, after: bool, broken: bool) -> bool:
        for stmt in reversed(body):
            after = self._step(stmt, after, broken)
        return after

    def _step(self, stmt: Stmt, after: bool, broken: bool) -> bool:
        match stmt:
            case Break():
                return broken
            case If(then=then, orelse=orelse):
                needed = [self._before(b, after, broken) for b in (then, orelse)]
                return any(needed) or stmt in self.touches
            case Section(body=body):
                return self._before(body, after, broken)
            case While(body=body):
                head = after or stmt in self.touches
                if self._before(body, head, after) and not head:
                    head = self._before(body, True, after)
                return head
            case For():
                return self._loop(stmt, after) or stmt in self.touches
        own = self.touches.get(stmt, ())
        if any(_needs(stmt, t) for t in own):
            return True
        return after and not any(_fills(stmt, t, (), self.one_part) for t in own)

    def _loop(self, loop: For, after: bool) -> bool:
        head = self._before(loop.body, after, after)
        if head and not after:
            head = self._before(loop.body, True, after)
        if head or after:
            self.kept.add(loop)
        if _filled_by(loop, self.touches):
            return False
        return head if (trips(loop) or 0) > 0 else head or after


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


def _filled_by(loop: For, touches: Touches) -> bool:
    """Whether a loop gives every element of the buffer a value before it reads it: the first that
    touches it writes the element of the round, and all others touch the same one."""
    own = list(_in_body((loop,), touches, ()))
    if not own:
        return False
    stmt, nest = own[0][0], own[0][2]
    written = [t for s, t, _ in own if s is stmt and t.access.writes]
    if nest is None or len(written) != 1 or not _fills(stmt, written[0], nest):
        return False
    reads_itself = any(s is stmt and t is not written[0] for s, t, _ in own)
    return not reads_itself and all(t.places == written[0].places for _, t, _ in own)


def _in_body(
    body: Body, touches: Touches, nest: tuple[For, ...] | None
) -> Iterator[tuple[Stmt, Touch, tuple[For, ...] | None]]:
    """Accesses of a buffer in textual order, with the loops of the nest around them; None for these
    where something else than loops that surely go round stands between."""
    for stmt in body:
        for touch in touches.get(stmt, ()):
            yield stmt, touch, nest
        if isinstance(stmt, For):
            inner = None if nest is None or not trips(stmt) else (*nest, stmt)
            yield from _in_body(stmt.body, touches, inner)
        else:
            for other in bodies(stmt):
                yield from _in_body(other, touches, None)
