"""Sets of bytes of buffers whose places depend on variables: runs from `start + 64 * k` on.

Runs with the same variable part are compared exactly; those with different ones are taken to meet,
and to cover each other only if one is the whole buffer. Not here: where runs come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tile_ir import Expr, Var, walk_expr

# Disjoint, in order, not touching each other.
Spans = tuple[tuple[int, int], ...]
# What is added to the numbers of the spans: factors of what varies, in bytes.
Terms = frozenset[tuple[Expr, int]]
Place = tuple[int, Terms]
FIXED: Terms = frozenset()


@dataclass(frozen=True, slots=True)
class Places:
    """Bytes of buffers, by the number of the buffer and the variable part of where they are."""

    spans: Mapping[Place, Spans] = field(default_factory=dict)

    def joined(self, other: Places) -> Places:
        mine = self.spans
        new = {place: s for place, s in other.spans.items() if mine.get(place) != s}
        if not new:
            return self
        for place, spans in new.items():
            new[place] = joined((*mine[place], *spans)) if place in mine else spans
        return Places({**mine, **new})

    def without(self, other: Places, sizes: Sequence[int]) -> Places:
        if not other.spans or not self.spans:
            return self
        found = {
            place: removed(spans, other.spans.get(place, ()))
            for place, spans in self.spans.items()
            if not other.covers(place[0], sizes)
        }
        return _nonempty(found)

    def common(self, other: Places, sizes: Sequence[int]) -> Places:
        found: dict[Place, Spans] = {}
        for one, two in ((self, other), (other, self)):
            for place, spans in one.spans.items():
                if two.covers(place[0], sizes):
                    found[place] = spans
                elif place not in found:
                    found[place] = shared(spans, two.spans.get(place, ()))
        return _nonempty(found)

    def covers(self, buffer: int, sizes: Sequence[int]) -> bool:
        return self.spans.get((buffer, FIXED)) == ((0, sizes[buffer]),)

    def staying(self, gone: Collection[Var]) -> Places:
        """Those whose place can be told without some variables."""
        if not gone:
            return self
        return Places({p: s for p, s in self.spans.items() if not _mentions(p[1], gone)})

    def widened(self, gone: Collection[Var], sizes: Sequence[int]) -> Places:
        """With whole buffers for those whose place can not be told without some variables."""
        if not gone:
            return self
        lost = {p[0] for p in self.spans if _mentions(p[1], gone)}
        return self.staying(gone).joined(whole(lost, sizes))

    def along(self, var: Var, start: tuple[Terms, int], rounds: int) -> Places:
        """What they are together in all rounds of a loop whose variable begins at `start`; those
        of other steps than their own size are left out."""
        found = Places()
        for (buffer, terms), spans in self.spans.items():
            factor = dict(terms).get(var, 0)
            rest = frozenset(t for t in terms if t[0] != var)
            if _mentions(rest, {var}):
                continue
            begin = _shifted(rest, start[0], factor)
            first = factor * start[1] + min(0, factor * (rounds - 1))
            more = abs(factor) * (rounds - 1)
            grown = [
                (low + first, high + first + more)
                for low, high in spans
                if rounds == 1 or high - low >= abs(factor)
            ]
            found = found.joined(_nonempty({(buffer, begin): joined(grown)}))
        return found

    def fixed_apart_from(self, other: Places) -> dict[int, Spans]:
        """By buffer, the bytes at a known place that surely are not among others."""
        moving = {buffer for buffer, terms in other.spans if terms}
        found = {
            buffer: removed(spans, other.spans.get((buffer, terms), ()))
            for (buffer, terms), spans in self.spans.items()
            if not terms and buffer not in moving
        }
        return {buffer: spans for buffer, spans in found.items() if spans}


def whole(buffers: Iterable[int], sizes: Sequence[int]) -> Places:
    return Places({(b, FIXED): ((0, sizes[b]),) for b in buffers})


def joined(spans: Iterable[tuple[int, int]]) -> Spans:
    result: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        elif low < high:
            result.append((low, high))
    return tuple(result)


def removed(spans: Spans, others: Spans) -> Spans:
    """The bytes of some runs that are not in others."""
    left = list(spans)
    for start, end in others:
        left = [
            part
            for low, high in left
            for part in ((low, min(high, start)), (max(low, end), high))
            if part[0] < part[1]
        ]
    return tuple(left)


def shared(spans: Spans, others: Spans) -> Spans:
    """The bytes that are in both."""
    return removed(spans, removed(spans, others))


def _shifted(terms: Terms, by: Terms, factor: int) -> Terms:
    found = dict(terms)
    for atom, f in by:
        found[atom] = found.get(atom, 0) + f * factor
    return frozenset((atom, f) for atom, f in found.items() if f)


def _mentions(terms: Terms, variables: Collection[Var]) -> bool:
    return any(
        part in variables for atom, _ in terms for part in walk_expr(atom) if type(part) is Var
    )


def _nonempty(spans: Mapping[Place, Spans]) -> Places:
    return Places({place: s for place, s in spans.items() if s})
