"""Compute the order that a wait for a word establishes: the signals without which it cannot end.

Several signals may have ended a wait; the wait then learns their common part. Of a word with
additions, an operation is complete if the additions that do not include it are too few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tile_checkers.ranks.core_numbers import Figure, above, parameters_in, plain, plain_sum
from tile_checkers.ranks.events import Await, Tell, Word
from tile_checkers.ranks.party import WAITS, Party, Table
from tile_checkers.touched import S
from tile_ir import Expr, Var, linear_form, substitute
from tile_ir.lazy import np

# A signal: its core, and its number among the signals of that.
Name = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sent:
    """A signal that was sent: `number` is its number on the scalar unit, `table` the order it
    carries."""

    tell: Tell
    party: Party
    name: Name
    number: int
    table: Table

    def before(self, other: Sent) -> bool:
        """Whether another one surely comes later, or is this one."""
        return bool(other.table[self.party.number, S] >= self.number)

    def before_wait(self, seen: Table, party: Party) -> bool:
        """Whether the table of a core before its wait includes the signal."""
        if self.party is party:
            return True
        return bool(seen[self.party.number, S] >= self.number)


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait that ended: its number among those of its core, what it `learned`, and the signals
    that were considered."""

    event: Await
    party: Party
    name: Name
    number: int
    learned: Table
    own: int
    looked_at: frozenset[Name]


class Unclear(Exception):
    """The checker cannot decide whether a wait ends, or which signal ends it."""


@dataclass(slots=True)
class WordState:
    """A word of one rank, and all that concerns it: `all_tells` are the signals of the whole run,
    whatever comes of it. `steps` says how far a call counts in parameters that count by more than
    one."""

    steps: Mapping[Var, int] = field(default_factory=dict)
    all_tells: list[Tell] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def adds(self) -> bool:
        kinds = {t.adds for t in self.all_tells}
        if len(kinds) > 1:
            raise Unclear("the word is set here, and added to there")
        return True in kinds

    def initial(self, asked: Figure) -> Figure | None:
        """The value of the word where the kernel begins. It is zero, or the value that previous
        calls left if a parameter counts them from 1 on. None if no signal goes to the word.
        Raises Unclear where the text does not determine it."""
        if not isinstance(asked, Expr):
            return 0
        counted = parameters_in(asked)
        if len(counted) != 1:
            raise Unclear("the awaited value depends on more than one parameter")
        step = counted[0]
        if not self.all_tells:
            return None
        if self.adds():
            total: Figure = 0
            for tell in self.all_tells:
                total = plain_sum(total, tell.value)
            if isinstance(total, Expr):
                raise Unclear("the added value depends on a parameter")
            per_call = linear_form(asked)[0].get(step, 0) * self.steps.get(step, 1)
            if per_call != total:
                raise Unclear(f"each call adds {total} to it, and {per_call} more is waited for")
            return plain((step - 1) * (int(total) // self.steps.get(step, 1)))
        last = self.all_tells[0].value
        for tell in self.all_tells[1:]:
            more = above(tell.value, last)
            if more is None:
                raise Unclear("its largest value is unknown")
            last = tell.value if more > 0 else last
        if not isinstance(last, Expr):
            raise Unclear("it is set to the same value in every call")
        return plain(substitute(last, {step: step - self.steps.get(step, 1)}))

    def behind(self, event: Await, party: Party) -> Table | None:
        """The table that a core learns by a wait for the word; None if the wait does not end."""
        begin = self.initial(event.value)
        if self.adds():
            return self._behind_sum(event, party, begin)
        by = [s for s in self.sent if holds(s.tell.value, event) and not self._lost(s, party)]
        sets_of_mine = [s for s in self.sent if s.before_wait(party.seen, party)]
        if holds(begin, event) and not sets_of_mine:
            return np.zeros_like(party.seen)
        if not by:
            return None
        return np.minimum.reduce([s.table for s in by])

    def _lost(self, sent: Sent, party: Party) -> bool:
        """Whether the value of a signal has been set to another one before a core waits."""
        return any(
            s is not sent and sent.before(s) and s.before_wait(party.seen, party) for s in self.sent
        )

    def _behind_sum(self, event: Await, party: Party, begin: Figure | None) -> Table | None:
        for sent in self.sent:
            if (above(sent.tell.value, 0) or -1) < 0:
                raise Unclear("the added value may be zero or negative")
        total = _sum(begin, self.sent)
        if not holds(total, event):
            if event.until == "eq" and (above(total, event.value) or 0) > 0:
                raise Unclear("the sum may exceed the awaited value")
            return None
        return _common(event, begin, self.sent, party)

    def overtaken(self, waited: Waited) -> Sent | None:
        """A signal that makes the condition of a wait false again, and that may come before its
        check."""
        if self.adds():
            return None
        by = [s for s in self.sent if s.name in waited.looked_at]
        by = [s for s in by if holds(s.tell.value, waited.event)]
        for sent in self.sent:
            if holds(sent.tell.value, waited.event) or after(sent, waited):
                continue
            if not any(sent.before(s) for s in by):
                return sent
        return None

    def missed(self, waited: Waited) -> frozenset[Name]:
        """Signals that were not considered, may come before a wait ends, and may carry less order
        than what it learned."""
        exact = waited.event.until not in ("ge", "gt")
        return frozenset(
            s.name
            for s in self.sent
            if s.name not in waited.looked_at
            and (s.tell.adds or holds(s.tell.value, waited.event))
            and not after(s, waited)
            and (exact or bool((s.table < waited.learned).any()))
        )


def _sum(begin: Figure | None, sents: Sequence[Sent]) -> Figure:
    total: Figure = 0 if begin is None else begin
    for sent in sents:
        total = plain_sum(total, sent.tell.value)
    return total


def _common(event: Await, begin: Figure | None, sents: Sequence[Sent], party: Party) -> Table:
    """The order that is sure once some additions are enough. In each column, the additions are
    counted from the one that includes least."""
    if holds(begin, event):
        return np.zeros_like(party.seen)
    start = _sum(begin, ())
    total = _sum(start, sents)
    if all(not holds(plain_sum(total, _minus(s.tell.value)), event) for s in sents):
        return np.maximum.reduce([s.table for s in sents])
    values = [int(s.tell.value) for s in sents if not isinstance(s.tell.value, Expr)]
    if len(values) < len(sents):
        raise Unclear("the added value depends on a parameter")
    tables = np.stack([s.table for s in sents])
    order = np.argsort(tables, axis=0, kind="stable")
    sums = np.cumsum(np.array(values)[order], axis=0)
    totals, which = np.unique(sums, return_inverse=True)
    enough = np.array([holds(plain_sum(start, int(n)), event) for n in totals])
    last = np.argmax(enough[which.reshape(sums.shape)], axis=0)[np.newaxis]
    learned: Table = np.take_along_axis(np.take_along_axis(tables, order, 0), last, 0)[0]
    return learned


def after(sent: Sent, waited: Waited) -> bool:
    """Whether a signal is surely sent after a wait has ended."""
    if sent.party is waited.party:
        return sent.number > waited.own
    return bool(sent.table[waited.party.number, WAITS] >= waited.number)


def holds(value: Figure | None, event: Await) -> bool:
    """Whether a value ends a wait."""
    if value is None:
        return event.until in ("ne", "lt", "le")
    more = above(value, event.value)
    if more is None:
        raise Unclear("its value and the awaited value depend on different parameters")
    return {
        "eq": more == 0,
        "ne": more != 0,
        "ge": more >= 0,
        "gt": more > 0,
        "le": more <= 0,
        "lt": more < 0,
    }[event.until]


def _minus(a: Figure) -> Figure:
    return plain(-a) if isinstance(a, Expr) else -int(a)


__all__ = ["Name", "Sent", "Unclear", "Waited", "Word", "WordState"]
