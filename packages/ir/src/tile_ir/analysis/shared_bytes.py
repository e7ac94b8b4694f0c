"""Find buffers that lie on the same bytes because the compiler put them there.

The pass that plans the order inside a core decides which of them conflict, and so does its checker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tile_ir.analysis.accesses import Touch
from tile_ir.layout.footprint import share_bytes
from tile_ir.machine import Memory
from tile_ir.nodes import Alloc, Buffer
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sharing:
    """Pairs of buffers with common bytes, of which the author of the kernel placed one at most, and
    scratch, which operations share with themselves when they are run again. An alias shares by the
    author's word. `roots` has the buffer that each name stands for."""

    pairs: frozenset[frozenset[Buffer]]
    scratch: frozenset[Buffer]
    roots: dict[Buffer, Buffer]

    @staticmethod
    def of(allocs: Iterable[Alloc], placed: Collection[str]) -> Sharing:
        """The buffers that share bytes by their addresses; `placed` are the names of those that the
        author of the kernel gave an address."""
        here = [a for a in allocs if a.address is not None and a.buffer.memory is not Memory.VAR]
        plain = [a for a in here if a.alias_of is None]
        pairs = frozenset(
            frozenset((a.buffer, b.buffer))
            for i, a in enumerate(plain)
            for b in plain[:i]
            if share_bytes(a, b) and not (a.buffer.name in placed and b.buffer.name in placed)
        )
        scratch = frozenset(a.buffer for a in plain if a.scratch)
        return Sharing(pairs, scratch, {a.buffer: a.alias_of or a.buffer for a in here})

    def __bool__(self) -> bool:
        return bool(self.pairs or self.scratch)

    def clash(self, one: Touch, other: Touch) -> bool:
        """Whether two touches conflict by sharing alone."""
        if not one.overlaps(other) or not (one.writes or other.writes):
            return False
        a, b = self.roots.get(one.region.buffer), self.roots.get(other.region.buffer)
        if a is None or b is None:
            return False
        return a in self.scratch if a is b else frozenset((a, b)) in self.pairs
