"""Track, for one core of one rank, the operations of all cores of all ranks that are complete.

Only the scalar unit learns about other cores: by words, barriers and counters. It then holds back
every pipe, so that one table serves the whole core. The order between its own pipes is kept in
clocks of one core (tile_checkers.block.clocks).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tile_checkers.block.clocks import WAITS, WIDTH, CoreClocks
from tile_checkers.ranks.events import AwaitEngine, CoreEvent, PipeFlag, PipeWait, Reach
from tile_checkers.touched import S
from tile_ir.lazy import np

# The column of stores to other ranks, behind those of the pipes and of the waits.
STORES = WIDTH
# Behind it, that of the engine: how often the core has waited for it.
ENGINE = STORES + 1
COLUMNS = ENGINE + 1
# For every core of every rank, so many instructions of each pipe are complete.
Table = Any

NAMES_OF_CORES = ("cube core", "vector core 0", "vector core 1")


@dataclass(frozen=True, slots=True)
class Touched:
    """An access of a core: its number in a column, and the table of the core at that point.
    `issued` is its number among the instructions of its pipe, and `drained` counts the waits of the
    core for the engine."""

    reach: Reach
    party: Party
    column: int
    number: int
    issued: int
    seen: Table
    drained: int


@dataclass(eq=False, slots=True)
class Party:
    """One core and its progress. `stores` counts those to other ranks, and `arrived` those that are
    surely complete. `fenced` is the number of stores before the last fence, and to which ranks;
    `drained` counts the waits for the engine, and `copied_to` has its writes that may be under way.
    """

    number: int
    rank: int
    block: int
    core: int
    events: list[CoreEvent]
    seen: Table
    local: CoreClocks = field(default_factory=lambda: CoreClocks(0, 1))
    at: int = 0
    stores: int = 0
    arrived: int = 0
    fenced: int = 0
    open_to: dict[int, Reach] = field(default_factory=dict)
    fenced_to: set[int] = field(default_factory=set)
    drained: int = 0
    copied_to: dict[int, Reach] = field(default_factory=dict)
    waits: int = 0
    tells: int = 0

    def name(self) -> str:
        return f"rank {self.rank}, block {self.block}, {NAMES_OF_CORES[self.core]}"

    def event(self) -> CoreEvent | None:
        return self.events[self.at] if self.at < len(self.events) else None

    def inside(self, event: CoreEvent) -> bool:
        """Run an event that concerns this core alone; return whether it does."""
        match event:
            case PipeFlag(flag=flag, sets=sets):
                if sets:
                    self.local.set_flag(flag)
                else:
                    self.local.wait_flag(flag)
            case PipeWait(pipe=None):
                self.local.barrier_all()
                if event.arrives:
                    self.quiet()
                if event.fences:
                    self.fenced, self.fenced_to = self.stores, set(self.open_to)
            case PipeWait(pipe=pipe):
                assert pipe is not None, "matched above"
                self.local.barrier(pipe)
            case AwaitEngine():
                self.local.barrier_all()
                self.drained += 1
                self.copied_to = {}
            case _:
                return False
        return True

    def quiet(self) -> None:
        """All stores to other ranks are there."""
        self.arrived = self.stores
        self.open_to, self.fenced_to = {}, set()

    def reach(self, reach: Reach) -> Touched:
        """Touch something: for others, a store to another rank is there only once the core has been
        quiet."""
        if reach.engine:
            if reach.writes and reach.rank != self.rank:
                self.copied_to[reach.rank] = reach
            return Touched(reach, self, ENGINE, self.drained + 1, 0, self.seen, self.drained)
        issued = number = self.local.issue(reach.pipe)
        column = reach.pipe
        if reach.writes and reach.rank != self.rank and not reach.word:
            self.stores += 1
            self.open_to[reach.rank] = reach
            self.fenced_to.discard(reach.rank)
            number, column = self.stores, STORES
        return Touched(reach, self, column, number, issued, self.seen, self.drained)

    def table(self, pipe: int) -> Table:
        """The table that holds once all operations of a pipe so far are complete."""
        found = self.seen.copy()
        own = found[self.number]
        own[:WIDTH] = self.local.before(pipe, own=True)
        own[STORES], own[ENGINE] = self.arrived, self.drained
        return found

    def told_to(self, rank: int) -> Table:
        """The table that a signal to a rank carries: behind a fence, it includes stores to that
        rank alone."""
        found = self.table(S)
        if self.fenced and set(self.open_to) == {rank} and rank in self.fenced_to:
            found[self.number, STORES] = max(self.arrived, self.fenced)
        return found

    def meeting(self, arrives: bool) -> Table:
        """All that is complete where this core meets others."""
        if arrives:
            self.quiet()
        self.local.barrier_all()
        return self.table(S)

    def receive(self, table: Table) -> int:
        """Join the table of another core; return the number of the wait."""
        self.seen = np.maximum(self.seen, table)
        number = self.local.receive([int(n) for n in table[self.number, :WIDTH]])
        assert number == self.local.waits, "waits are counted by the clocks"
        return number

    def learn(self, table: Table) -> None:
        """Continue from the common table of a barrier."""
        self.seen = table
        self.local.learn_all([int(n) for n in table[self.number, :WIDTH]])


__all__ = ["COLUMNS", "ENGINE", "NAMES_OF_CORES", "STORES", "WAITS", "Party", "Table", "Touched"]
