"""One run of a section, element by element: which statement touches which bytes, in order. A second
opinion on what may conflict at all."""

from __future__ import annotations

from typing import Any

from concrete_order import Run

from tile_ir import Region
from tile_ir.machine import Pipe
from tile_ir.nodes import Stmt


class Executed(Run):
    """`pairs` has the statements of which one, after the other, touched bytes of it. Flags and
    barriers say nothing here; `loaded` is what every element read is taken for."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.now: list[Stmt] = []
        self.before: dict[tuple[Stmt, str, frozenset[Any]], None] = {}
        self.known_bytes: dict[Any, frozenset[Any]] = {}
        self.pairs: set[tuple[Stmt, Stmt]] = set()

    def stmt(self, stmt: Stmt) -> None:
        self.now.append(stmt)
        try:
            super().stmt(stmt)
        finally:
            self.now.pop()

    def work(self, pipe: Pipe, in_order: bool, touched: list[tuple[Region, str]]) -> None:
        now = self.now[-1]
        found = [(now, kind, self.bytes_of(region)) for region, kind in touched]
        for _, kind, own in found:
            for stmt, other, theirs in self.before:
                pair = stmt, now
                harmless = kind == other and kind != "w"
                if pair not in self.pairs and not harmless and not own.isdisjoint(theirs):
                    self.pairs.add(pair)
        self.before.update(dict.fromkeys(found))

    def bytes_of(self, region: Region) -> frozenset[Any]:
        box = [(self.value(s.offset), self.value(s.extent), s.stride) for s in region.dims]
        key = (region.buffer, *box)
        if key not in self.known_bytes:
            self.known_bytes[key] = frozenset(self.bytes(region))
        return self.known_bytes[key]
