"""Run all streams of a block once, statement by statement, on one path.

Each stream runs until it waits for another one. The order in which streams continue does not
matter: one party raises a counter and one core lowers it, so that every wait gets the same token in
every schedule. Clocks record complete operations. Two accesses to common elements are in order if
the clock of one includes the other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress

from tile_checkers.block.accesses import Accesses, told_by
from tile_checkers.block.choices import Path
from tile_checkers.block.clocks import Clock, CoreClocks, joined
from tile_checkers.block.counted_while import iterations_left
from tile_checkers.block.counters import Counters
from tile_checkers.block.iterations import MANY, BlockLoops, LoopIterations
from tile_checkers.block.samples import Guard
from tile_checkers.block.streams import NAMES, Stream
from tile_checkers.block.values import Values
from tile_checkers.findings import BlockFindings
from tile_checkers.loop_facts import CROSS, FLAGS
from tile_checkers.touched import NUMBER, S, pipes_of_flag
from tile_ir import (
    Body,
    Break,
    Buffer,
    Effect,
    Expr,
    For,
    If,
    Let,
    Load,
    Memory,
    Op,
    Pipe,
    Store,
    Target,
    While,
    accesses,
    constant_value,
    pipe_of,
    print_expr,
    walk_ops,
)
from tile_ir import walk as walk_statements
from tile_ir.quick_dataclasses import dataclass

# Gives way where the stream has to wait; says whether the loop is left.
Steps = Generator[None, None, bool]
# Iterations of a `while` of which nobody knows how often it runs.
WHILE_ITERATIONS = 2
# A condition that has to be proven takes as long as so many statements.
PROOF = 30


class TooLong(Exception):
    """The budget of statements is used up."""


class Stop(Exception):
    """The run cannot continue; the reason has been reported."""


@dataclass(slots=True)
class Budget:
    """How many statements may still be run."""

    left: int
    proofs: int = 0

    def spend(self, path: Path) -> None:
        self.left -= 1 + PROOF * (path.proofs - self.proofs)
        self.proofs = path.proofs
        if self.left < 0:
            raise TooLong


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """Facts that all runs of a kernel share."""

    streams: tuple[Stream, ...]
    target: Target
    values: Mapping[int, Values]
    accesses: Accesses
    loops: BlockLoops


class CoreRun:
    """One stream."""

    def __init__(self, stream: Stream, block: BlockRun, values: Values) -> None:
        self.stream = stream
        self.core = stream.core
        self.block = block
        self.values = values
        self.clocks = CoreClocks(stream.core, 3)
        self.waiting: Op | None = None
        self.number: int | None = None
        self.met = False
        self.guards: tuple[Guard, ...] = ()
        # For each tensor, what had come before its lines were last dropped from the data cache.
        self.refreshed: dict[Buffer, Clock] = {}
        values.begin({**block.path.given(), **stream.given})
        values.read = self.read

    def body(self, body: Body) -> Steps:
        for stmt in body:
            self.block.budget.spend(self.block.path)
            for site in self.stream.sites.get(id(stmt), ()):
                before = self.clocks.before(site.pipe)
                number = self.clocks.issue(site.pipe)
                found = self.block.accesses.execute(
                    site, number, before, self.values, self.guards, self.block.path
                )
                for met in found:
                    self.block.findings.unordered(met)
            match stmt:
                case Op():
                    if stmt.opdef.effect in CROSS:
                        yield from self.cross(stmt)
                    else:
                        self.order(stmt)
                case Let(var=var, value=value):
                    self.values.bound[var] = self.values.value(value)
                case Store(buffer=buffer) if buffer.memory is Memory.VAR:
                    self.values.scalars[buffer] = self.values.value(stmt.value)
                case If():
                    if (yield from self.branch(stmt)):
                        return True
                case For():
                    yield from self.loop(stmt)
                case While():
                    yield from self.repeat(stmt)
                case Break():
                    return True
        return False

    def read(self, load: Load) -> Expr | None:
        """The value of an element of gm that the kernel changes."""
        seen = self.refreshed.get(load.buffer) or [0] * len(self.clocks.known[S])
        return self.block.accesses.element(load, self.core, seen, self.block.path)

    # Synchronisation -----------------------------------------------------------------------------

    def order(self, op: Op) -> None:
        effect = op.opdef.effect
        if effect in FLAGS:
            event = op.operand("event_id")
            assert isinstance(event, Expr), "the verifier has checked it"
            number = self.block.path.event(self.values.value(event))
            if number is None:
                return  # nothing is known by it
            if effect is Effect.SET_FLAG:
                self.clocks.set_flag((*pipes_of_flag(op), number))
            else:
                self.clocks.wait_flag((*pipes_of_flag(op), number))
        elif effect is Effect.BARRIER:
            pipe = pipe_of(op)
            if pipe is Pipe.ALL:
                self.clocks.barrier_all()
            else:
                self.clocks.barrier(NUMBER[pipe])
        elif op.opdef.unit_flags and pipe_of(op) is Pipe.FIX:
            self.clocks.follow(NUMBER[Pipe.FIX], NUMBER[Pipe.M])
        elif effect is Effect.CACHE:
            for region, _ in accesses(op):
                self.refreshed[region.buffer] = self.clocks.before(S)

    def cross(self, op: Op) -> Generator[None]:
        if op.opdef.effect is Effect.SYNC_ALL:
            self.waiting, self.number, self.met = op, None, False
            while not self.met:
                yield
            self.waiting, self.met = None, False
            return
        flag = op.operand("flag")
        assert isinstance(flag, Expr), "the verifier has checked it"
        number = self.block.path.event(self.values.value(flag))
        if number is None:
            self.block.findings.unproved(
                op.loc,
                f"the flag id `{print_expr(flag)}` is unknown at compile time",
                "take a constant, or a remainder of a loop variable",
            )
            raise Stop
        number %= self.block.target.cross_flags  # the field of the instruction
        if op.opdef.effect is Effect.SET_CROSS_FLAG:
            self.block.counters.set(self.core, self.clocks, number, op)
            return
        while not self.block.counters.wait(self.core, self.clocks, number, op):
            self.waiting, self.number = op, number
            yield
        self.waiting = None

    # Ways ----------------------------------------------------------------------------------------

    def branch(self, stmt: If) -> Steps:
        condition = self.values.value(stmt.condition)
        truth = self.block.path.truth(condition)
        if truth is None:
            truth = told_by(self.guards, condition)
        if truth is None and self.block.loops.signals(stmt):
            truth = self.block.path.choose(condition, stmt.condition)
        if truth is not None:
            return (yield from self.body(stmt.then if truth else stmt.orelse))
        before, scalars, around = self.clocks.fork(), dict(self.values.scalars), self.guards
        self.guards = (*around, (condition, True))
        yield from self.body(stmt.then)
        after, other = self.clocks.fork(), self.values.scalars
        self.clocks.restore(self.clocks.past(before))
        self.values.scalars = scalars
        self.guards = (*around, (condition, False))
        yield from self.body(stmt.orelse)
        self.guards = around
        self.clocks.meet(self.clocks.past(after))
        self.values.meet(other)
        return False

    def count(self, trips: Expr, its: LoopIterations) -> int:
        """The trip count of a loop on this path."""
        tried = self.block.loops.tried(its.trips, self.block.long)
        return self.block.path.count(trips, its.trips, tried)

    def loop(self, loop: For) -> Generator[None]:
        its, path = self.block.loops.of[id(loop)], self.block.path
        start, trips = self.values.value(loop.start), self.values.value(its.trips)
        count = self.count(trips, its)
        turns: Iterable[int] = range(count)
        if self.block.reduced:
            turns = tuple(its.of(count, self.values, path.known, self.block.loops.period))
            if len(turns) < count:
                self.block.accesses.skipped.add(loop.var)
        held: list[int] = []
        for i in turns:
            self.values.bound[loop.var] = start + i
            if (yield from self.body(loop.body)):
                return
            held.append(self.block.counters.held() if its.signals else 0)
        self.watch(its, held, count, constant_value(trips) is None)

    def watch(self, its: LoopIterations, held: list[int], count: int, open_end: bool) -> None:
        """Note whether a counter rises from iteration to iteration, and would pass its limit in
        those left out. The end is open too where a choice gave it."""
        path, loops, step = self.block.path, self.block.loops, its.phases
        chosen = open_end or not loops.behind(its.trips).isdisjoint(path.given())
        if count < MANY and chosen if self.block.long else its.innermost:
            return
        if len(held) <= 2 * step or (len(held) == count and not chosen):
            return
        # Once is not enough: the first iterations may fill what is then kept full.
        rise = min(held[-1] - held[-1 - step], held[-1 - step] - held[-1 - 2 * step])
        most = path.most_iterations() if chosen else count
        reached = self.block.counters.peak() + rise * (most - len(held)) / step
        if rise > 0 and reached > self.block.counters.limit:
            self.block.growing.append(its.loop)

    def repeat(self, loop: While) -> Generator[None]:
        """A `while` with signals runs with the trip count of the text. Of any other one, keep the
        common part of none, one and some iterations."""
        if self.block.loops.signals(loop):
            yield from self.counted(loop)
            return
        for _ in range(WHILE_ITERATIONS):
            before, scalars = self.clocks.fork(), dict(self.values.scalars)
            for stmt in walk_statements(loop.body):
                if isinstance(stmt, Store) and stmt.buffer.memory is Memory.VAR:
                    self.values.forget(stmt.buffer)
            yield from self.body(loop.body)
            self.clocks.meet(self.clocks.past(before))
            self.values.meet(scalars)

    def counted(self, loop: While) -> Generator[None]:
        """A `while` with signals: condition by condition, or so many iterations as are left from
        where a condition is open."""
        its, path = self.block.loops.of[id(loop)], self.block.path
        count: int | None = None
        held: list[int] = []
        while count is None or len(held) < count:
            if count is None:
                truth = path.truth(self.values.value(loop.condition))
                if truth is False:
                    break
                if truth is None:
                    count = len(held) + self.count(self.left(loop), its)
                    continue
            self.block.budget.spend(path)
            if (yield from self.body(loop.body)):
                return
            held.append(self.block.counters.held())
        self.watch(its, held, len(held), count is not None)

    def left(self, loop: While) -> Expr:
        """How many iterations are left."""
        found = iterations_left(loop, self.values)
        if found is None:
            self.block.findings.unproved(
                loop.loc, "the trip count of this loop is unknown", "take a loop over a range"
            )
            raise Stop
        return found


class BlockRun:
    """All streams of a block on one path. `growing` are loops in which a counter rises with every
    iteration."""

    def __init__(
        self,
        facts: BlockFacts,
        path: Path,
        findings: BlockFindings,
        budget: Budget,
        reduced: bool,
        long: bool,
    ) -> None:
        self.path = path
        self.target = facts.target
        self.accesses = facts.accesses
        self.loops = facts.loops
        self.findings = findings
        self.budget = budget
        self.reduced = reduced
        self.long = long
        self.growing: list[For | While] = []
        cores = tuple(s.core for s in facts.streams)
        self.counters = Counters(cores, self.target.cross_counter_limit, findings)
        self.accesses.begin()
        self.cores = [CoreRun(s, self, facts.values[s.core]) for s in facts.streams]
        self.together = [
            c
            for c in self.cores
            if any(op.opdef.effect is Effect.SYNC_ALL for op in walk_ops(c.stream.body))
        ]

    def run(self) -> None:
        """Run to the end, or until no stream can continue."""
        with suppress(Stop):
            self.steps()

    def steps(self) -> None:
        running = {core: core.body(core.stream.body) for core in self.cores}
        while running:
            moved = False
            for core, steps in list(running.items()):
                if not self.ready(core):
                    continue
                moved = True
                try:
                    next(steps)
                except StopIteration:
                    del running[core]
            self.meet()
            if not moved and not any(self.ready(c) for c in running):
                self.hang(list(running))
                return
        for lane, number, op in self.counters.alone():
            self.findings.alone(lane, number, op)
        for counter, count, op in self.counters.left():
            self.findings.left(counter, count, op)
        for loop in self.growing:
            self.findings.rises(loop)

    def ready(self, core: CoreRun) -> bool:
        if core.waiting is None or core.met:
            return True
        return core.number is not None and bool(self.counters.of(core.core, core.number).waiting)

    def meet(self) -> None:
        """All cores that meet are there."""
        if not self.together or not all(
            c.waiting is not None and c.number is None and not c.met for c in self.together
        ):
            return
        clock = self.together[0].clocks.barrier_all()
        for core in self.together[1:]:
            clock = joined(clock, core.clocks.barrier_all())
        for core in self.together:
            core.clocks.learn_all(clock)
            core.met = True

    def hang(self, cores: list[CoreRun]) -> None:
        for core in cores:
            if core.waiting is None:
                continue
            others = "".join(
                f"; {NAMES[c.core]} waits in line {c.waiting.loc.line}"
                for c in cores
                if c is not core and c.waiting is not None and c.waiting is not core.waiting
            )
            self.findings.hangs(core.core, core.waiting, core.number, others)
        for lane, number, op in self.counters.alone():
            self.findings.alone(lane, number, op)


__all__ = ["BlockRun", "Budget", "Stop", "TooLong"]
