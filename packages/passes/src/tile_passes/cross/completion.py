"""What each core surely knows to be complete, along the program with some rounds of every loop.

A forward must-analysis on bits, one per execution of an access. A signal carries what is complete
on its pipe where it is set, and what its core knew; whoever awaits it knows that from there on.
What an operation started after is complete when the operation is: a core orders its accesses of one
buffer on the chip by itself. What is learned in a branch, or in a loop that may not run, is
forgotten behind it, but for what was done there; behind a loop with a break no more is known than
where it breaks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tile_ir import Core, For, If, Pipe
from tile_ir.analysis.intervals import Interval, Ranges, interval
from tile_ir.expr import Var
from tile_ir.nodes import Break
from tile_ir.opdef import Effect
from tile_passes.cross.blocks import CORES, Access, Block, Leaf
from tile_passes.cross.dependences import Dependence
from tile_passes.cross.knowledge import Entry, Knowledge
from tile_passes.cross.signals import Signal, open_signals

# From so many rounds on a loop is steady, but for what it carries over more of them.
STEADY = 3
Rounds = tuple[tuple[int, int], ...]  # (id of a loop's block, round), outermost first


class _Unordered(Exception):
    """A dependence is not ordered."""


@dataclass(slots=True)
class Findings:
    """What a run has shown: signals that told something new, and the first dependence that was not
    ordered, where it ended."""

    needed: set[Signal] = field(default_factory=set)
    missing: Dependence | None = None


@dataclass(frozen=True, slots=True)
class _Exit:
    """What is known where a loop breaks, and what the signals then set and not awaited tell; `bits`
    is what has run so far."""

    cores: dict[Core, Knowledge]
    tokens: dict[Signal, tuple[int, ...]]
    bits: int


@dataclass(slots=True)
class _Run:
    known: Ranges
    rounds: int
    lazily: bool
    before: dict[tuple[int, int], list[Signal]]
    after: dict[tuple[int, int], list[Signal]]
    at_home: dict[tuple[int, int], list[Signal]]
    wanted: dict[tuple[Leaf, Core], list[Dependence]]
    watched: set[tuple[Leaf, Core]]
    busy: set[int]
    distances: dict[int, int]
    exits: list[list[_Exit]] = field(default_factory=lambda: [[]])
    bits: int = 0
    cores: dict[Core, Knowledge] = field(default_factory=lambda: {c: Knowledge() for c in CORES})
    tokens: dict[Signal, deque[int]] = field(default_factory=dict)
    done: dict[tuple[Leaf, Core], list[tuple[Rounds, int]]] = field(default_factory=dict)
    names: dict[Var, int] = field(default_factory=dict)
    trips: dict[int, Interval] = field(default_factory=dict)
    found: Findings = field(default_factory=Findings)

    def bit(self) -> int:
        self.bits += 1
        return 1 << (self.bits - 1)

    # Blocks -------------------------------------------------------------------------------------

    def block(self, block: Block, rounds: Rounds) -> None:
        for place in range(len(block.items)):
            here = (id(block), place)
            for s in self.at_home.get(here, ()):
                for _ in range(s.ahead):
                    self.set(s)
            for s in self.before.get(here, ()):
                self.wait(s)
            if isinstance(block.items[place].stmt, Break):
                self.leave(block)
            leaf = block.leaves.get(place)
            if leaf is not None:
                self.leaf(leaf, rounds)
            if place in block.inner:
                self.inside(block.items[place].stmt, block.inner[place], rounds)
            for s in self.after.get(here, ()):
                self.set(s)
            for s in self.at_home.get(here, ()):
                for _ in range(s.ahead):
                    self.wait(s)

    def inside(self, stmt: object, blocks: tuple[Block, ...], rounds: Rounds) -> None:
        if isinstance(stmt, For):
            trips = self.trips.get(id(stmt))
            if trips is None:
                trips = self.trips[id(stmt)] = interval(stmt.stop - stmt.start, self.known)
            most = int(min(self.rounds_of(blocks[0]), trips.high))
            self.apart(blocks[0], rounds, most, trips.low >= 1, stmt)
        elif isinstance(stmt, If):
            for b in blocks:
                if not b.items:
                    continue
                start, told, first = self.snapshot(), self.told(), self.bits
                self.block(b, rounds)
                self.forget(start, first)
                self.told_as_well(told, first)
        else:
            self.apart(blocks[0], rounds, self.rounds_of(blocks[0]), False, None)

    def rounds_of(self, block: Block) -> int:
        """So many that what is carried from one round to a later one meets it in a steady loop."""
        carried = self.distances.get(id(block), 0)
        return max(self.rounds, carried + 2) if self.rounds >= STEADY else self.rounds

    def apart(
        self, block: Block, rounds: Rounds, trips: int, surely: bool, loop: For | None
    ) -> None:
        start, told, first = self.snapshot(), self.told(), self.bits
        self.exits.append([])
        # What only computes on the chip does so in every round alike.
        for n in range(trips if id(block) in self.busy else min(trips, 1)):
            if loop is not None:
                self.names[loop.var] = n
            self.block(block, (*rounds, (id(block), n)))
        for broken in self.exits.pop():
            self.join(broken)
        if not surely:
            self.forget(start, first)
            self.told_as_well(told, first)

    def told(self) -> dict[Signal, tuple[int, ...]]:
        """What signals that are set and not yet awaited tell."""
        return {s: tuple(t) for s, t in self.tokens.items()}

    def told_as_well(self, before: dict[Signal, tuple[int, ...]], first: int) -> None:
        """Only what was told without a branch as well, but for executions from bit `first` on:
        what is awaited behind it may have been set before."""
        inside = ~((1 << first) - 1)
        for s, old in before.items():
            now = self.tokens[s]
            if len(now) == len(old):
                self.tokens[s] = deque(b & (a | inside) for a, b in zip(old, now, strict=True))

    def leave(self, block: Block) -> None:
        """Remember what is known where a branch breaks its loop, and has awaited and set what it
        must: what later signals tell there is what they told before."""
        cores, tokens = self.snapshot(), self.told()
        if block.parent is not None:
            for s, is_set in open_signals(self.tokens, block.parent, block.place):
                if is_set:
                    cores[s.sink].knows |= tokens[s][0]
                    tokens[s] = tokens[s][1:]
                else:
                    source = cores[s.source]
                    tokens[s] = (*tokens[s], source.knows | source.complete.get(s.pipe, 0))
        self.exits[-1].append(_Exit(cores, tokens, self.bits))

    def join(self, broken: _Exit) -> None:
        """Only what is known where the loop broke as well; what would have come later is not done
        then, so that nobody needs to know of it."""
        later = ~((1 << broken.bits) - 1)
        for s, then_told in broken.tokens.items():
            now_told = self.tokens[s]
            assert len(now_told) == len(then_told), "every way is balanced"
            self.tokens[s] = deque(
                a & (b | later) for a, b in zip(now_told, then_told, strict=True)
            )
        for core, now in self.cores.items():
            now.join(broken.cores[core], later)

    def snapshot(self) -> dict[Core, Knowledge]:
        return {c: k.copy() for c, k in self.cores.items()}

    def forget(self, start: dict[Core, Knowledge], first: int) -> None:
        """Back to what was known, but for executions from bit `first` on."""
        inside = ~((1 << first) - 1)
        for core, now in self.cores.items():
            now.forget(start[core], inside)

    # Signals ------------------------------------------------------------------------------------

    def set(self, signal: Signal) -> None:
        core = self.cores[signal.source]
        told = core.knows | core.complete.get(signal.pipe, 0)
        self.tokens.setdefault(signal, deque()).append(told)

    def wait(self, signal: Signal) -> None:
        told = self.tokens[signal].popleft()
        core = self.cores[signal.sink]
        if not self.lazily or self.told_anew(signal, told & ~core.knows):
            core.knows |= told
            self.found.needed.add(signal)

    def told_anew(self, signal: Signal, fresh: int) -> bool:
        """Whether what was not known is something that the signal is there for."""
        return any(
            bit & fresh
            for key in {(d.earlier.leaf, d.source) for d in signal.covers}
            for _, bit in self.done.get(key, ())
        )

    # Leaves -------------------------------------------------------------------------------------

    def leaf(self, leaf: Leaf, rounds: Rounds) -> None:
        effect = getattr(getattr(leaf.stmt, "opdef", None), "effect", None)
        if effect is Effect.SYNC_ALL:
            for core in self.cores.values():
                core.knows = (1 << self.bits) - 1
            return
        for which in leaf.cores:
            self.execute(leaf, which, rounds)

    def execute(self, leaf: Leaf, which: Core, rounds: Rounds) -> None:
        core, own = self.cores[which], (leaf, which)
        for d in () if self.lazily else self.wanted.get(own, ()):
            asked = 0
            for at, bit in self.done.get((d.earlier.leaf, d.source), ()):
                if _precedes(d, at, rounds):
                    asked |= bit
            if asked & ~core.knows:
                self.found.missing = d
                raise _Unordered
        bits = core.knows
        chip = [(access, self.where(access)) for access in leaf.chip]
        for access, where in chip:
            bits |= core.met(access, where)
        if own in self.watched:
            bit = self.bit()
            self.done.setdefault(own, []).append((rounds, bit))
            bits |= bit
        for access, where in chip:
            # Whatever tells that it is complete tells the same of what its pipe did before.
            core.note(Entry(access, where, bits | core.complete.get(access.pipe, 0)))
        for pipe in leaf.pipes:
            # The scalar unit is done when the next instruction is issued.
            if pipe is Pipe.S:
                core.complete = {p: b | bits for p, b in core.complete.items()}
                core.complete.setdefault(Pipe.MTE3, bits)
            else:
                core.complete[pipe] = core.complete.get(pipe, 0) | bits

    def where(self, access: Access) -> tuple[int, ...]:
        """In which rounds the variables of a region are; equal regions name them in one order."""
        variables = access.variables
        return tuple([self.names.get(v, -1) for v in variables]) if variables else ()


def _precedes(d: Dependence, earlier: Rounds, later: Rounds) -> bool:
    """Whether a dependence asks for an execution in these rounds before one in those."""
    then, now = dict(earlier), dict(later)
    if d.loop is None:
        return all(now[block] == n for block, n in earlier if block in now)
    for block, n in earlier:
        if block == id(d.loop):
            return now[block] - n >= max(1, d.distance)
        if block in now and then[block] != now[block]:
            return False
    return False


def examine(
    root: Block,
    signals: Sequence[Signal],
    dependences: Iterable[Dependence],
    known: Ranges,
    rounds: int,
    lazily: bool,
) -> Findings:
    """Follow the program with `rounds` rounds of every loop, to the first dependence that is not
    ordered. `lazily`: a signal that tells nothing that its dependences ask for is taken for not
    there, and nobody looks for dependences."""
    wanted: dict[tuple[Leaf, Core], list[Dependence]] = {}
    watched: set[tuple[Leaf, Core]] = set()
    for d in dependences:
        wanted.setdefault((d.later.leaf, d.sink), []).append(d)
        watched.add((d.earlier.leaf, d.source))
    run = _Run(
        known, rounds, lazily,
        _by_place((s.block, s.before, s) for s in signals),
        _by_place((s.block, s.after, s) for s in signals),
        _by_place((s.home, s.home_place, s) for s in signals if s.home is not None),
        wanted, watched, _busy(wanted, watched, signals), _distances(wanted),
    )  # fmt: skip
    with suppress(_Unordered):
        run.block(root, ())
    return run.found


def _busy(
    wanted: dict[tuple[Leaf, Core], list[Dependence]],
    watched: set[tuple[Leaf, Core]],
    signals: Sequence[Signal],
) -> set[int]:
    """The blocks in which anything is watched, asked for or signalled."""
    places = [leaf.block for leaf, _ in (*wanted, *watched)] + [s.block for s in signals]
    return {id(outer) for block in places for outer, _ in block.chain()}


def _distances(wanted: dict[tuple[Leaf, Core], list[Dependence]]) -> dict[int, int]:
    """The longest distance that a dependence carried by a loop has, by the id of its block."""
    result: dict[int, int] = {}
    for d in (d for its in wanted.values() for d in its if d.loop is not None):
        result[id(d.loop)] = max(d.distance, result.get(id(d.loop), 0))
    return result


def _by_place(found: Iterator[tuple[Block, int, Signal]]) -> dict[tuple[int, int], list[Signal]]:
    result: dict[tuple[int, int], list[Signal]] = {}
    for block, place, signal in found:
        result.setdefault((id(block), place), []).append(signal)
    return result
