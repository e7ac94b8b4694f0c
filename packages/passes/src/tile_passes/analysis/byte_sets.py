"""Represent sets of bytes of buffers whose places may depend on variables: `start + 64 * k`.

Intervals with the same variable part are compared exactly. Those with different ones may overlap,
and one covers the other only if it is the whole buffer. Not here: which statement touches what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from tile_ir import Expr, Var, walk_expr
from tile_ir.quick_dataclasses import dataclass

# Disjoint, ascending, not adjacent.
Spans = tuple[tuple[int, int], ...]
# What is added to the numbers of the spans: variables with their factors in bytes.
Terms = frozenset[tuple[Expr, int]]
FIXED: Terms = frozenset()


class BufferStorage(NamedTuple):
    """A buffer by its number among those analysed, and its size in bytes. `one_name`: no other
    buffer shares its bytes."""

    number: int
    size: int
    one_name: bool = False


@dataclass(frozen=True, slots=True)
class ByteSet:
    """Intervals of bytes by buffer and by the variable part of their places; none is empty."""

    parts: Mapping[BufferStorage, Mapping[Terms, Spans]] = field(default_factory=dict)

    @staticmethod
    def whole(storages: Iterable[BufferStorage]) -> ByteSet:
        return ByteSet({s: {FIXED: ((0, s.size),)} for s in storages})

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __or__(self, other: ByteSet) -> ByteSet:
        mine = self.parts
        new = {s: found for s, found in other.parts.items() if mine.get(s) != found}
        if not new or not mine:
            return other if new else self
        for storage in new.keys() & mine.keys():
            found = dict(mine[storage])
            for terms, spans in new[storage].items():
                found[terms] = union((*found.get(terms, ()), *spans))
            new[storage] = found
        return ByteSet({**mine, **new})

    def __sub__(self, other: ByteSet) -> ByteSet:
        """The bytes that are not surely in the other set."""
        common = self.parts.keys() & other.parts.keys()
        if not common:
            return self
        found = dict(self.parts)
        for storage in common:
            theirs = {} if other.covers(storage) else other.parts[storage]
            left = {t: difference(s, theirs.get(t, ())) for t, s in found.pop(storage).items()}
            if theirs and any(left.values()):
                found[storage] = {terms: spans for terms, spans in left.items() if spans}
        return ByteSet(found)

    def __and__(self, other: ByteSet) -> ByteSet:
        """The bytes that are surely in both sets."""
        return (self - (self - other)) | (other - (other - self))

    def covers(self, storage: BufferStorage) -> bool:
        return self.parts.get(storage, {}).get(FIXED) == ((0, storage.size),)

    def apart_from(self, other: ByteSet) -> ByteSet:
        """The bytes at a known place that are surely not in the other set."""
        found: dict[BufferStorage, Mapping[Terms, Spans]] = {}
        for storage, spans in self.parts.items():
            theirs = other.parts.get(storage, {})
            left = difference(spans.get(FIXED, ()), theirs.get(FIXED, ()))
            if left and not theirs.keys() - {FIXED}:
                found[storage] = {FIXED: left}
        return ByteSet(found)

    def without_variables(self, gone: Collection[Var], whole: bool) -> ByteSet:
        """The set where some variables mean nothing: a part that depends on them is the `whole`
        buffer in a may set, and nothing in a must set."""
        lost = [s for s, found in self.parts.items() if any(_mentions(t, gone) for t in found)]
        if not lost:
            return self
        parts = dict(self.parts)
        for storage in lost:
            rest = {t: s for t, s in parts.pop(storage).items() if not _mentions(t, gone)}
            if rest:
                parts[storage] = rest
        return ByteSet(parts) | ByteSet.whole(lost if whole else ())

    def one_iteration_before(self, var: Var) -> ByteSet:
        """The set that the iteration before has, as the variable of the loop is now. A must set."""
        found: dict[BufferStorage, Mapping[Terms, Spans]] = {}
        for storage, parts in self.parts.items():
            moved: dict[Terms, Spans] = {}
            for terms, spans in parts.items():
                by = dict(terms).get(var, 0)
                if not _mentions(terms - {(var, by)}, (var,)):
                    moved[terms] = tuple((low - by, high - by) for low, high in spans)
            if moved:
                found[storage] = moved
        return ByteSet(found)

    def over_iterations(
        self, var: Var, start: tuple[Terms, int], trips: int, whole: bool
    ) -> ByteSet:
        """The union over all iterations of a loop whose variable begins at `start`; the gaps
        between two iterations belong to a may set (`whole`) only."""
        found: dict[BufferStorage, Mapping[Terms, Spans]] = {}
        lost = []
        for storage, parts in self.parts.items():
            grown: dict[Terms, Spans] = {}
            for terms, spans in parts.items():
                factor = dict(terms).get(var, 0)
                rest = frozenset(t for t in terms if t[0] != var)
                if _mentions(rest, (var,)):
                    lost.append(storage)
                    continue
                first = factor * start[1] + min(0, factor * (trips - 1))
                more = abs(factor) * (trips - 1)
                moved = [
                    (low + first, high + first + more)
                    for low, high in spans
                    if whole or trips == 1 or high - low >= abs(factor)
                ]
                begin = _shifted(rest, start[0], factor)
                if moved:
                    grown[begin] = union((*grown.get(begin, ()), *moved))
            if grown:
                found[storage] = grown
        return ByteSet(found) | ByteSet.whole(lost if whole else ())


def union(spans: Iterable[tuple[int, int]]) -> Spans:
    result: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        elif low < high:
            result.append((low, high))
    return tuple(result)


def difference(spans: Spans, others: Spans) -> Spans:
    """The bytes of some intervals that are not in others."""
    left = list(spans)
    for start, end in others:
        left = [
            part
            for low, high in left
            for part in ((low, min(high, start)), (max(low, end), high))
            if part[0] < part[1]
        ]
    return tuple(left)


def _shifted(terms: Terms, by: Terms, factor: int) -> Terms:
    found = dict(terms)
    for atom, f in by:
        found[atom] = found.get(atom, 0) + f * factor
    return frozenset((atom, f) for atom, f in found.items() if f)


def _mentions(terms: Terms, variables: Collection[Var]) -> bool:
    return any(
        part in variables for atom, _ in terms for part in walk_expr(atom) if type(part) is Var
    )
