"""Find races on the instance of a rank, and stores that may arrive after its kernel has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tile_checkers.ranks.core_numbers import Figure, above, remain_apart
from tile_checkers.ranks.party import ENGINE, STORES, Party, Touched
from tile_ir import Buffer, Expr
from tile_ir.lazy import np

# Ends of what is no number.
_FAR = 1 << 60


@dataclass(frozen=True, slots=True)
class RankPair:
    """Two accesses without an order; whether they do meet is not `certain` where data or parameters
    decide."""

    first: Touched
    second: Touched
    certain: bool


def unordered_pairs(touched: Iterable[Touched]) -> Iterator[RankPair]:
    """Pairs of accesses without an order: by cores of different blocks, by two cores of a block of
    which one names the instance by its rank, or with an access of the engine. The other order
    inside a block is proved elsewhere. There a store to another rank is complete once its pipe has
    completed it."""
    instances: dict[tuple[Buffer, int], list[Touched]] = {}
    for one in touched:
        instances.setdefault((one.reach.buffer, one.reach.rank), []).append(one)
    for found in instances.values():
        if any(t.reach.writes for t in found):
            yield from _in_instance(found)


def _in_instance(found: list[Touched]) -> Iterator[RankPair]:
    lows = np.array([[_end(x, -_FAR) for x in t.reach.lows] for t in found], np.int64)
    highs = np.array([[_end(x, _FAR) for x in t.reach.highs] for t in found], np.int64)
    writes = np.array([t.reach.writes for t in found])
    unordered = np.array([t.reach.unordered for t in found])
    number = np.array([t.number for t in found])
    column = np.array([t.column for t in found])
    pipe = np.array([t.reach.pipe for t in found])
    issued = np.array([t.issued for t in found])
    party = np.array([t.party.number for t in found])
    at = np.array([(t.party.rank, t.party.block) for t in found])
    engine = column == ENGINE
    far = np.array([t.reach.far for t in found])
    drained = np.array([t.drained for t in found])
    for i in range(1, len(found)):
        meet = ((lows[:i] < highs[i]) & (lows[i] < highs[:i])).all(axis=1)
        meet &= (writes[:i] | writes[i]) & ~(unordered[:i] & unordered[i])
        inside = (at[:i] == at[i]).all(axis=1)
        meet &= ~inside | ((party[:i] != party[i]) & (far[:i] | far[i])) | engine[:i]
        if not meet.any():
            continue
        for j in np.flatnonzero(meet):
            among, wanted = column[j], number[j]
            if inside[j] and not engine[j]:
                among, wanted = pipe[j], issued[j]
            seen = found[i].seen[party[j], among]
            if party[i] == party[j]:  # a queue of the engine is in order
                seen = wanted if engine[i] else drained[i]
            if seen >= wanted:
                continue
            sure = _meet(found[j], found[i])
            if sure is not False:
                yield RankPair(found[j], found[i], bool(sure))


def _end(value: Figure, far: int) -> int:
    return far if isinstance(value, Expr) else int(value)


def _meet(one: Touched, two: Touched) -> bool | None:
    """Whether two accesses have bytes in common; None if it is unknown."""
    a, b = one.reach, two.reach
    sure = a.certain and b.certain
    for low, high, other_low, other_high in zip(a.lows, a.highs, b.lows, b.highs, strict=True):
        single = above(high, low) == 1 and above(other_high, other_low) == 1
        if single and remain_apart(low, other_low):
            return False
        for end, begin in ((high, other_low), (other_high, low)):
            gap = above(begin, end)
            if gap is None:
                sure = False
            elif gap >= 0:
                return False
    return True if sure else None


def never_known(parties: list[Party], touched: Iterable[Touched]) -> Iterator[Touched]:
    """Stores to other ranks that may arrive after the last wait of every core there."""
    known: dict[int, np.ndarray] = {}
    for party in parties:
        before = known.get(party.rank)
        known[party.rank] = party.seen if before is None else np.maximum(before, party.seen)
    for one in touched:
        put = one.column == STORES or (
            one.column == ENGINE and one.reach.writes and one.reach.rank != one.party.rank
        )
        if put and known[one.reach.rank][one.party.number, one.column] < one.number:
            yield one


def left_open(touched: Iterable[Touched]) -> Iterator[Touched]:
    """Writes of the engine that its core never waits for."""
    for one in touched:
        if one.column == ENGINE and one.reach.writes and one.party.drained < one.number:
            yield one


__all__ = ["RankPair", "left_open", "never_known", "unordered_pairs"]
