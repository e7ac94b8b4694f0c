"""What one kind of core has done itself by a place of the program, as bits of executions: what is
complete when a pipe is, or when those are that touched some bytes on the chip.

It depends on the program alone. What a core is told of others is in `completion`: it knows that
wherever it issues, so that none of it has to be kept with what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import Buffer, Pipe
from tile_passes.order.core_blocks import Access

# Some accesses of a buffer on the chip: of those that write, or of those that read, all, those of
# the whole buffer, or those of one region while its variables are in the same rounds.
Group = tuple[Buffer, bool, str | tuple[int, tuple[int, ...]]]
_ALL, _WHOLE = "all", "whole"


class OnChip(NamedTuple):
    """An access of a buffer on the chip: the groups of accesses it comes after, and those it is in,
    by number."""

    pipe: Pipe
    after: list[int]
    among: list[int]


@dataclass(slots=True)
class Groups:
    """The numbers of groups, and what they are to accesses."""

    numbers: dict[Group, int] = field(default_factory=dict)
    known: dict[tuple[Access, tuple[int, ...]], OnChip] = field(default_factory=dict)

    def of(self, access: Access, rounds: tuple[int, ...]) -> OnChip:
        """By an access, and the rounds in which the variables of its region are."""
        key = access, rounds
        found = self.known.get(key)
        if found is None:
            buffer, own = access.region.buffer, (id(access.region), rounds)
            ways = (True, False) if access.writes else (True,)
            met = (_ALL,) if access.whole else (_WHOLE, own)
            its = (_ALL, _WHOLE) if access.whole else (_ALL, own)
            after = [self._number((buffer, way, part)) for way in ways for part in met]
            among = [self._number((buffer, access.writes, part)) for part in its]
            found = self.known[key] = OnChip(access.pipe, after, among)
        return found

    def _number(self, group: Group) -> int:
        return self.numbers.setdefault(group, len(self.numbers))


@dataclass(slots=True)
class OwnWork:
    """What is complete when the work of a pipe so far is, and when a group of accesses is."""

    pipes: dict[Pipe, int] = field(default_factory=dict)
    groups: dict[int, int] = field(default_factory=dict)

    def copy(self) -> OwnWork:
        return OwnWork(dict(self.pipes), dict(self.groups))

    def execute(self, bits: int, chip: Sequence[OnChip], pipes: frozenset[Pipe]) -> None:
        """Remember an execution, which is complete when `bits` are."""
        groups, complete = self.groups, self.pipes
        for access in chip:
            for group in access.after:
                bits |= groups.get(group, 0)
        for access in chip:
            # Whatever tells that it is complete tells the same of what its pipe did before.
            told = bits | complete.get(access.pipe, 0)
            for group in access.among:
                groups[group] = groups.get(group, 0) | told
        for pipe in pipes:
            # The scalar unit is done when the next instruction is issued.
            if pipe is Pipe.S:
                self.pipes = complete = {p: b | bits for p, b in complete.items()}
                complete.setdefault(Pipe.MTE3, bits)
            else:
                complete[pipe] = complete.get(pipe, 0) | bits

    def join(self, then: OwnWork, later: int) -> None:
        """Only what was so then as well, but for executions that came later."""
        self.pipes = {p: b & (then.pipes.get(p, 0) | later) for p, b in self.pipes.items()}
        self.groups = {g: b & (then.groups.get(g, 0) | later) for g, b in self.groups.items()}

    def forget(self, then: OwnWork, inside: int) -> None:
        """Back to what was so then, but for executions inside."""
        self.pipes = {p: then.pipes.get(p, 0) | (b & inside) for p, b in self.pipes.items()}
        self.groups = {g: then.groups.get(g, 0) | (b & inside) for g, b in self.groups.items()}


__all__ = ["Groups", "OnChip", "OwnWork"]
