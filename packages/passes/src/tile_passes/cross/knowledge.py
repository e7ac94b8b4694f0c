"""What one kind of core knows to be complete at a place of the program, as bits of executions.
Where that is learned is in `completion`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import Buffer, Pipe
from tile_passes.cross.blocks import Access


class Entry(NamedTuple):
    """One access of a buffer on the chip, in which rounds the variables of its region were, and
    what was complete when it was."""

    access: Access
    where: tuple[int, ...]
    bits: int


Table = dict[Buffer, tuple[Entry, ...]]


@dataclass(slots=True)
class Knowledge:
    """What a core knows wherever it issues, and per pipe what is complete when the work so far is;
    then, per buffer on the chip, who wrote and read what."""

    knows: int = 0
    complete: dict[Pipe, int] = field(default_factory=dict)
    written: Table = field(default_factory=dict)
    read: Table = field(default_factory=dict)

    def copy(self) -> Knowledge:
        return Knowledge(self.knows, dict(self.complete), dict(self.written), dict(self.read))

    def met(self, access: Access, at: tuple[int, ...]) -> int:
        """What is complete before an access begins, by what its core did to the same bytes."""
        region = access.region
        bits = 0
        for table in (self.written, self.read) if access.writes else (self.written,):
            for e in table.get(region.buffer, ()):
                if access.whole or e.access.whole or (e.access.region is region and e.where == at):
                    bits |= e.bits
        return bits

    def note(self, entry: Entry) -> None:
        """Remember an access. Whoever comes after one that writes all of a buffer comes after all
        that this one came after."""
        access, buffer = entry.access, entry.access.region.buffer
        if not access.writes:
            self.read[buffer] = (*self.read.get(buffer, ()), entry)
        elif access.whole:
            self.written[buffer] = (entry,)
            self.read.pop(buffer, None)
        else:
            self.written[buffer] = (*self.written.get(buffer, ()), entry)

    def join(self, then: Knowledge, later: int) -> None:
        """Only what was known then as well, but for executions that came later."""
        self.knows &= then.knows | later
        self.complete = {
            p: b & (then.complete.get(p, 0) | later) for p, b in self.complete.items()
        }
        for table, old in ((self.written, then.written), (self.read, then.read)):
            for buffer, entries in table.items():
                kept = {id(e) for e in old.get(buffer, ())}
                table[buffer] = tuple(
                    e if id(e) in kept else Entry(e.access, e.where, e.bits & later)
                    for e in entries
                )

    def forget(self, then: Knowledge, inside: int) -> None:
        """Back to what was known then, but for executions inside."""
        self.knows = then.knows | (self.knows & inside)
        self.complete = {
            p: then.complete.get(p, 0) | (bits & inside) for p, bits in self.complete.items()
        }
        self.written = _forgotten(self.written, then.written, inside)
        self.read = _forgotten(self.read, then.read, inside)


def _forgotten(now: Table, then: Table, inside: int) -> Table:
    """What was in a table, and what has come since, for executions inside only."""
    if now == then:
        return now
    result = dict(then)
    for buffer, entries in now.items():
        old = then.get(buffer, ())
        if entries is old:
            continue
        kept = set(map(id, old))
        new = [
            Entry(e.access, e.where, e.bits & inside)
            for e in entries
            if e.bits & inside and id(e) not in kept
        ]
        if new:
            result[buffer] = (*old, *new)
    return result


__all__ = ["Entry", "Knowledge"]
