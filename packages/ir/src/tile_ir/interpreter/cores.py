"""The cores of a launch and how they meet: cross-core flags as counters, barriers over all cores
(docs/hardware/index.md#flags-between-cores)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import field
from typing import Any

from tile_ir.expr import Var
from tile_ir.interpreter.storage import Storage
from tile_ir.location import Loc
from tile_ir.machine import Core
from tile_ir.nodes import Body, Buffer, Op, Section
from tile_ir.opdef import Among, Effect, core_of
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import RANKS
from tile_ir.target import Target
from tile_ir.traversal import bodies

Steps = Generator[None, None, None]


class CounterOverflow(Exception):
    """A counter went past its limit; the caller that has the statement makes a diagnostic of it."""


@dataclass(eq=False)
class CoreState:
    """One core of a block: its memories, its variables, its flags.

    `progress` counts what it did that another core can see; `waiting` says for what it stands;
    `alone` how many statements it is in that other cores do not go through with it; `sections` how
    many sections it is in, `sections_left` how many it has left, the last one in round `left_in`.
    """

    kind: Core
    rank: int
    block: int
    lane: int
    storage: dict[Buffer, Storage]
    variables: dict[Var, Any]
    counters: list[int]
    flags: set[tuple[str, str, int]] = field(default_factory=set)
    waiting: str = ""
    progress: int = 0
    alone: int = 0
    sections: int = 0
    sections_left: int = 0
    left_in: int = 0
    undivided: bool = False
    ended: bool = False
    loc: Loc | None = None
    deq_scale: Any = None

    @property
    def name(self) -> str:
        rank = f"rank {self.rank} " if self.variables[RANKS] > 1 else ""
        return f"{rank}block {self.block} " + (
            "aic" if self.kind is Core.CUBE else f"aiv{self.lane}"
        )


class Meeting:
    """Signals between cores that run together; `round` counts the turns of all of them."""

    def __init__(self, cores: list[CoreState], body: Body, target: Target) -> None:
        self.limit = target.cross_counter_limit
        self.cores = cores
        self.kinds: dict[str, set[Core]] = {}
        for name, kind in _meeting_kinds(body, Core.EITHER):
            self.kinds.setdefault(name, set()).add(kind)
        self.sent: dict[tuple[int, int, int, int], dict[CoreState, int]] = {}
        self.arrived: dict[tuple[int, int], set[CoreState]] = {}
        self.generation: dict[tuple[int, int], int] = {}
        self.met_in: dict[tuple[int, int], int] = {}
        self.round = 0

    def signal(self, core: CoreState, flag: int, mode: int) -> None:
        """One core sets a flag; when its whole group has, every receiver counts one up."""
        group = self._group(core, mode)
        receivers = group if mode < 2 else [c for c in self._block(core) if c.kind is not core.kind]
        place = -1 if mode == 0 else core.block * 2 + (core.kind is Core.CUBE)
        sent = self.sent.setdefault((mode, flag, core.rank, place), dict.fromkeys(group, 0))
        sent[core] += 1
        core.progress += 1
        if any(count == 0 for count in sent.values()):
            return
        for c in group:
            sent[c] -= 1
        for c in receivers:
            c.counters[flag] += 1
            if c.counters[flag] > self.limit:
                raise CounterOverflow(f"{c.name}: flag {flag} is set over {self.limit} times")

    def _group(self, core: CoreState, mode: int) -> list[CoreState]:
        """The cores that set together: of the whole launch in mode 0, else of the block."""
        near = self._of_rank(core.rank) if mode == 0 else self._block(core)
        return [c for c in near if c.kind is core.kind]

    def _of_rank(self, rank: int) -> list[CoreState]:
        return [c for c in self.cores if c.rank == rank]

    def _block(self, core: CoreState) -> list[CoreState]:
        return [c for c in self.cores if c.rank == core.rank and c.block == core.block]

    def await_signal(self, core: CoreState, flag: int) -> Steps:
        while core.counters[flag] == 0:
            core.waiting = f"cross flag {flag} at {core.loc}"
            yield
        core.progress += 1
        core.counters[flag] -= 1

    def sync_all(self, core: CoreState, op: Op) -> Steps:
        """Meet the cores that have such a barrier: of the rank, of all ranks, or of the block."""
        name, kinds = op.opdef.name, self.kinds[op.opdef.name]
        match op.opdef.among:
            case Among.RANKS:
                group, place = self.cores, (-1, -1)
            case Among.BLOCK:
                group, place = self._block(core), (core.rank, core.block)
                kinds = kinds if op.attr("cubes") else {Core.VECTOR}
                if core.undivided:  # the second vector core is behind the task
                    group, place = [c for c in group if c.lane == 0], (core.rank, -2 - core.block)
            case _:
                group, place = self._of_rank(core.rank), (core.rank, -1)
        generation = self.generation.setdefault(place, 0)
        arrived = self.arrived.setdefault(place, set())
        arrived.add(core)
        core.progress += 1
        if len(arrived) == sum(1 for c in group if c.kind in kinds):
            arrived.clear()
            self.generation[place] += 1
            self.met_in[place] = self.round
        # All go on in one round, the one behind that in which the last has come.
        while self.generation[place] == generation or self.round <= self.met_in[place]:
            core.waiting = f"{name} at {core.loc}"
            yield
        core.progress += 1

    def leave_section(self, core: CoreState) -> Steps:
        """Wait behind a section for the other cores of the block, so that all go on in one round:
        those that skip it have done fewer steps than those that run it."""
        core.sections_left += 1
        core.left_in = self.round
        block = self._block(core)
        while any(c.sections_left < core.sections_left for c in block if not c.ended):
            yield
        while self.round <= max(c.left_in for c in block):
            yield


def _meeting_kinds(body: Body, core: Core) -> Iterator[tuple[str, Core]]:
    """The kinds of cores that meet at each barrier by name: those whose statements have one."""
    for stmt in body:
        if isinstance(stmt, Op) and stmt.opdef.effect is Effect.SYNC_ALL:
            kind = core_of(stmt) if core is Core.EITHER else core
            for each in (Core.CUBE, Core.VECTOR) if kind is Core.EITHER else (kind,):
                yield stmt.opdef.name, each
        inner = stmt.core if isinstance(stmt, Section) else core
        for nested in bodies(stmt):
            yield from _meeting_kinds(nested, inner)
