"""Whose values lie in the bytes of the buffers that share memory, at one program point.

The lattice of the analysis: a may part and a must part, joined where paths meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from tile_checkers.memory.circumstances import Facts
from tile_checkers.memory.places import Place
from tile_checkers.memory.spans import Spans, common, union, without
from tile_ir import Buffer, Loc, Region, Var, walk_expr
from tile_ir.quick_dataclasses import dataclass

# A write over the values of another buffer: the buffer that is written, and the statement's place.
Overwrite = tuple[Buffer, Loc]


@dataclass(slots=True)
class Owners:
    """`written` are buffers that may hold a value, and `lost[b, overwrite]` the bytes of buffer `b`
    in which it may have been overwritten. `sure[b, p]` are bytes at the symbolic place `p` that
    surely hold a value of `b`. `facts` hold on the paths that lead here."""

    written: frozenset[Buffer] = frozenset()
    lost: dict[tuple[Buffer, Overwrite], Spans] = field(default_factory=dict)
    sure: dict[tuple[Buffer, Place], Spans] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts | None = None) -> Owners:
        known = self.facts if facts is None else facts
        return Owners(self.written, dict(self.lost), dict(self.sure), known)

    def same(self, other: Owners) -> bool:
        mine, its = (self.written, self.lost, self.sure), (other.written, other.lost, other.sure)
        return mine == its

    def overwritten(
        self, buffer: Buffer, low: float, high: float
    ) -> Iterator[tuple[Overwrite, Spans]]:
        """The overwrites whose bytes a read of the buffer in [low, high) may find."""
        for (owner, overwrite), spans in self.lost.items():
            if owner is buffer:
                met = common(spans, ((low, high),))
                if met:
                    yield overwrite, met

    def take_over(self, buffer: Buffer, overwrite: Overwrite, low: float, high: float) -> None:
        """Another buffer writes [low, high) of the memory that this one has written."""
        key = buffer, overwrite
        self.lost[key] = union((*self.lost.get(key, ()), (low, high)))
        self.sure = {k: s for k, s in self.sure.items() if k[0] is not buffer}

    def restore(self, buffer: Buffer, low: float, high: float) -> None:
        """The buffer surely writes all of [low, high)."""
        rest = {k: without(s, low, high) if k[0] is buffer else s for k, s in self.lost.items()}
        self.lost = {k: s for k, s in rest.items() if s}

    def restore_at(
        self, buffer: Buffer, place: Place, spans: Iterable[tuple[float, float]]
    ) -> None:
        """The buffer surely writes bytes at a symbolic place."""
        self.sure[buffer, place] = union((*self.sure.get((buffer, place), ()), *spans))

    def begin(self, buffers: Iterable[Buffer]) -> None:
        """These buffers hold nothing yet."""
        gone = frozenset(buffers)
        self.written -= gone
        self.lost = {k: s for k, s in self.lost.items() if k[0] not in gone}

    def leave(self, variables: frozenset[Var]) -> None:
        """The variables get other values: places that depend on them are other places."""
        self.sure = {k: s for k, s in self.sure.items() if variables.isdisjoint(_variables(k[1]))}


def joined(states: Iterable[Owners]) -> list[Owners]:
    """Return one state for all, without facts; none for none."""
    states = list(states)
    if len(states) < 2:
        return [s.copy({}) for s in states]
    first, *others = states
    written, lost, sure = first.written, dict(first.lost), dict(first.sure)
    for other in others:
        written |= other.written
        for key, spans in other.lost.items():
            lost[key] = union((*lost.get(key, ()), *spans))
        sure = {k: common(s, other.sure[k]) for k, s in sure.items() if k in other.sure}
    return [Owners(written, lost, {k: s for k, s in sure.items() if s})]


def _variables(place: Place) -> Iterator[Var]:
    parts = (
        [e for s in place.dims for e in (s.offset, s.extent)]
        if isinstance(place, Region)
        else [atom for atom, _ in place]
    )
    return (e for part in parts for e in walk_expr(part) if isinstance(e, Var))


__all__ = ["Overwrite", "Owners", "joined"]
