"""What a statement of a random kernel may use: scalars that are defined, places that have a value.

A place is a run of elements of a buffer that is one slot, one half of it, or all of it. Only places
are read that some statement before has surely written, whatever the trip counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tile_ir import Buffer, DType, Memory, Region
from tile_ir.expr import Const, Expr, Load, Var, walk_expr
from tile_ir.nodes import Slice

# How a key names a slot or a half that depends on run-time values is the expression itself.
Key = tuple[Buffer, Expr | None, int | None]
WHOLE = None


@dataclass(frozen=True)
class Place:
    """`slot` is None in buffers without slots, `half` None for all elements of the slot, 2 for a
    half chosen at run time by `pick`."""

    buffer: Buffer
    count: int
    slot: Expr | None = None
    half: int | None = WHOLE
    pick: Expr | None = None

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    def region(self) -> Region:
        start: Expr = Const(0)
        if self.half in (0, 1):
            start = Const((self.half or 0) * self.count)
        elif self.half == 2:
            assert self.pick is not None, "a half is picked"
            start = self.pick * self.count
        last = Slice(start, Const(self.count))
        if self.slot is None:
            return Region(self.buffer, (last,))
        return Region(self.buffer, (Slice(self.slot, Const(1)), last))

    def element(self, index: Expr) -> tuple[Expr, ...]:
        region = self.region()
        places = [s.offset for s in region.dims]
        places[-1] = places[-1] + index
        return tuple(places)

    def key(self) -> Key:
        return self.buffer, self.slot, self.half


@dataclass
class Scope:
    """`ready` are the places with a value; `roots` says whose bytes a buffer names; `locked`
    buffers may not be written here; `rounds` is the most often this point runs."""

    integers: list[Expr]
    floats: list[Expr]
    ready: set[Key] = field(default_factory=set)
    roots: dict[Buffer, Buffer] = field(default_factory=dict)
    locked: set[Buffer] = field(default_factory=set)
    loops: list[Var] = field(default_factory=list)
    depth: int = 0
    rounds: int = 1
    breakable: bool = False
    broke: bool = False

    def inside(self, **changes: object) -> Scope:
        """A copy for statements inside one of this block."""
        copied = replace(
            self,
            integers=list(self.integers),
            floats=list(self.floats),
            ready=set(self.ready),
            locked=set(self.locked),
            loops=list(self.loops),
            depth=self.depth + 1,
        )
        return replace(copied, **changes)  # type: ignore[arg-type]

    def forget(self, since: Scope) -> None:
        """Back to what a copy says: the statements drawn since then are not used."""
        self.integers, self.floats = list(since.integers), list(since.floats)
        self.ready, self.broke = set(since.ready), since.broke

    def root(self, buffer: Buffer) -> Buffer:
        return self.roots.get(buffer, buffer)

    def has_value(self, place: Place) -> bool:
        buffer, slot, half = place.key()
        slots = [slot] if slot is None else [slot, None]
        for s in slots:
            if (buffer, s, WHOLE) in self.ready:
                return True
            if half in (0, 1) and (buffer, s, half) in self.ready:
                return True
            if (buffer, s, 0) in self.ready and (buffer, s, 1) in self.ready:
                return True
        return False

    def give_value(self, place: Place) -> None:
        moving = place.slot is not None and any(isinstance(e, Load) for e in walk_expr(place.slot))
        if place.half != 2 and not moving:
            self.ready.add(place.key())

    def make_ready(self, buffer: Buffer) -> None:
        self.ready.add((buffer, None, WHOLE))

    def kept(self, inner: Scope, runs: bool) -> None:
        """Take over what a loop or branch has surely written, but for keys of its variables."""
        if not runs:
            return
        known = {
            v for e in (*self.integers, *self.floats) for v in walk_expr(e) if isinstance(v, Var)
        }
        for key in inner.ready:
            slot = key[1]
            if slot is None or all(v in known for v in walk_expr(slot) if isinstance(v, Var)):
                self.ready.add(key)


def on_chip(buffer: Buffer) -> bool:
    return buffer.memory not in (Memory.GM, Memory.VAR)
