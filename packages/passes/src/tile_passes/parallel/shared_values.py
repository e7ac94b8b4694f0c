"""Values that several places of one expression need: computed once, kept in their tile until the
last of these places has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from tile_ir import Buffer, Cast, Const, Expr, Load, Operand, Region, Var, children
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import Domain


def references(e: Expr) -> Counter[Expr]:
    """How many places need each part of an expression, if equal parts are computed once."""
    found: Counter[Expr] = Counter()
    waiting = [e]
    while waiting:
        part = waiting.pop()
        found[part] += 1
        if found[part] == 1 and not isinstance(part, (Const, Load)):
            waiting.extend(children(part))
    return found


@dataclass(eq=False)
class SharedValues:
    """Tiles by their values. `kept` are those with uses left, so that no operation may
    write into them; one without uses left is like any other tile."""

    uses: Counter[Expr]
    tiles: dict[tuple[Expr, Domain], Region] = field(default_factory=dict)
    kept: set[Buffer] = field(default_factory=set)
    left: Counter[Buffer] = field(default_factory=Counter)

    def wanted(self, e: Expr) -> int:
        """How many places need the value; a conversion the compiler made serves the places of its
        operand."""
        if e in self.uses or not isinstance(e, Cast):
            return self.uses.get(e, 1)
        return self.wanted(e.operand)

    def is_shared(self, e: Expr) -> bool:
        return self.wanted(e) > 1 and not isinstance(e, (Const, Var))

    def keep(self, e: Expr, domain: Domain, tile: Region) -> None:
        """The tile holds the value, which no place has taken yet."""
        self.tiles[e, domain] = tile
        self.kept.add(tile.buffer)
        self.left[tile.buffer] = self.wanted(e)

    def keep_for_good(self, e: Expr, domain: Domain, tile: Region) -> None:
        """The tile holds the value until the statement is done."""
        self.keep(e, domain, tile)
        self.left[tile.buffer] = 1 << 30

    def take(self, e: Expr, domain: Domain) -> Region | None:
        """The value for one place, if there is a tile with it."""
        tile = self.tiles.get((e, domain))
        if tile is not None:
            self._drop(tile.buffer)
        return tile

    def _drop(self, buffer: Buffer) -> None:
        self.left[buffer] -= 1
        if self.left[buffer] <= 0:
            self.kept.discard(buffer)
            self.tiles = {k: r for k, r in self.tiles.items() if r.buffer is not buffer}

    @contextmanager
    def holding(self, value: Operand) -> Iterator[None]:
        """An operand stays as it is while the others are computed."""
        buffer = value.buffer if isinstance(value, Region) else None
        if buffer is None or buffer not in self.kept:
            yield
            return
        self.left[buffer] += 1
        try:
            yield
        finally:
            self._drop(buffer)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Forget, at the end of the block, the values computed inside it."""
        before, kept = dict(self.tiles), set(self.kept)
        try:
            yield
        finally:
            self.kept &= kept
            self.tiles = {k: r for k, r in before.items() if r.buffer in self.kept}
