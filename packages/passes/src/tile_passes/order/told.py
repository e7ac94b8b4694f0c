"""What each core surely knows to be complete, along a trace of the program, with some signals.

A forward must-analysis on bits, one per execution of an access. A signal carries what is complete
on its pipe where it is set, and what its core knew; whoever awaits it knows that from there on.
What is learned in a branch, or in a loop that may not run, is forgotten behind it, but for what was
done there; behind a loop with a break no more is known than where it breaks. Not here: in which
order a core does its own work (`own_work`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import Core
from tile_passes.order.core_blocks import CORES
from tile_passes.order.core_dependences import Dependence
from tile_passes.order.counters import Signal
from tile_passes.order.trace import Ask, Breaks, End, Enter, Event, Leave, Meet, Set, Trace, Wait


def telling(trace: Trace, signals: Iterable[Signal]) -> set[Signal]:
    """The signals that tell something new of what they are there for; any other one is taken for
    not there."""
    told = _Told(frozenset(signals))
    found: set[Signal] = set()
    for event in trace.events:
        if type(event) is not Wait:
            told.follow(event)
        elif event.signal in told.signals:
            s, bits = event.signal, told.taken(event.signal)
            if bits & ~told.knows[s.sink] & trace.covered[s]:
                told.knows[s.sink] |= bits
                found.add(s)
    return found


def unordered(trace: Trace, signals: Iterable[Signal]) -> Dependence | None:
    """The first dependence that the signals do not order, if there is one."""
    told = _Told(frozenset(signals))
    for event in trace.events:
        if type(event) is not Ask:
            told.follow(event)
        elif event.bits & ~told.knows[event.dependence.sink]:
            return event.dependence
    return None


class _Snapshot(NamedTuple):
    knows: dict[Core, int]
    tokens: dict[Signal, tuple[int, ...]]


@dataclass(slots=True)
class _Told:
    """What the cores know, and what signals that are set and not yet awaited tell; the same where
    the parts around were entered, and where loops broke."""

    signals: frozenset[Signal]
    knows: dict[Core, int] = field(default_factory=lambda: dict.fromkeys(CORES, 0))
    tokens: dict[Signal, tuple[int, ...]] = field(default_factory=dict)
    entered: list[_Snapshot] = field(default_factory=list)
    broken: dict[Breaks, _Snapshot] = field(default_factory=dict)

    def follow(self, event: Event) -> None:
        match event:
            case Set(signal=s, complete=bits):
                if s in self.signals:
                    told = self.knows[s.source] | bits
                    self.tokens[s] = (*self.tokens.get(s, ()), told)
            case Wait(signal=s):
                if s in self.signals:
                    self.knows[s.sink] |= self.taken(s)
            case Enter():
                self.entered.append(self.snapshot())
            case Leave(inside=inside):
                self.forget(self.entered.pop(), inside)
            case Meet(bits=bits):
                self.knows = dict.fromkeys(CORES, bits)
            case Breaks(open=parts):
                here = self.snapshot()
                for part in parts:
                    self.follow(part)
                self.broken[event] = self.snapshot()
                self.knows, self.tokens = here
            case End(breaks=breaks):
                for place in breaks:
                    self.join(self.broken.pop(place), place.later)

    def taken(self, signal: Signal) -> int:
        """What a signal tells whoever awaits it now."""
        told, *left = self.tokens[signal]
        self.tokens[signal] = tuple(left)
        return told

    def snapshot(self) -> _Snapshot:
        return _Snapshot(dict(self.knows), dict(self.tokens))

    def join(self, then: _Snapshot, later: int) -> None:
        """Only what is known where the loop broke as well; what would have come later is not done
        then, so that nobody needs to know of it."""
        for s, old in then.tokens.items():
            pairs = zip(self.tokens[s], old, strict=True)  # every way is balanced
            self.tokens[s] = tuple(now & (was | later) for now, was in pairs)
        for core, was in then.knows.items():
            self.knows[core] &= was | later

    def forget(self, then: _Snapshot, inside: int) -> None:
        """Back to what was known, but for executions inside; and only what was told without them as
        well: what is awaited behind may have been set before."""
        for core, was in then.knows.items():
            self.knows[core] = was | (self.knows[core] & inside)
        for s, old in then.tokens.items():
            now = self.tokens[s]
            if now is not old and len(now) == len(old):
                self.tokens[s] = tuple(b & (a | inside) for a, b in zip(old, now, strict=True))


__all__ = ["telling", "unordered"]
