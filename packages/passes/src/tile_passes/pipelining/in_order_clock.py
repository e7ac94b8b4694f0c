"""When the work of a pipelined loop is done, by the cost query: pipes take it in the order of the
text, the scalar unit hands it to them, and waits where it reads an element.

What is known of one round is found once; each order of the statements is then tried on a clock of
its own. Rounds of inner loops are a few that take as long as all. Flags cost nothing here, they
only make later work wait for what it needs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tile_ir import (
    Body,
    Buffer,
    Const,
    Core,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Pipe,
    Region,
    Stmt,
    Store,
    Target,
    Var,
    While,
    accesses,
    bodies,
    constant_value,
    expressions,
    loads,
    pipe_of,
    reads_memory,
    substitute,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import constant_trips, regions_of
from tile_ir.costs.instruction_cost import Assumed, Cost, cost
from tile_ir.costs.timing import DEFAULT_TIMING as TIMING
from tile_passes.pipelining.round_units import Unit

# Rounds of a loop whose number is not known, and how many of an inner one are looked at.
ASSUMED_ROUNDS = 16
INNER_ROUNDS = 3
# Rounds that are run before the loop drains, and after how many of them the interval is taken from
# the rest.
RUN, SETTLED = 10, 5

# Accesses to the bytes of a buffer that are looked back at.
MOST_USES = 8

Box = tuple[tuple[int, int] | None, ...]


class Touch(NamedTuple):
    """Elements of a buffer, from the first to behind the last in each dimension as far as they are
    known; `buffer` is the owner of the bytes."""

    buffer: Buffer
    box: Box | None
    writes: bool

    def meets(self, other: Touch) -> bool:
        if not self.writes and not other.writes:
            return False
        if self.box is None or other.box is None or len(self.box) != len(other.box):
            return True
        for a, b in zip(self.box, other.box, strict=True):
            if a and b and (a[1] <= b[0] or b[1] <= a[0]):
                return False
        return True


class Work(NamedTuple):
    """What a pipe does at once; that of the scalar unit keeps all others from being begun."""

    pipe: Pipe
    cost: Cost
    touches: tuple[Touch, ...]


class RoundWork:
    """The work of each unit in each round, found when it is asked for. `handed`: the tensors that
    the kernel both writes and reads. They lie in L2, as do operands of products, which many blocks
    load; what else vector cores move comes from HBM once, or is new to L2. As many cores move bytes
    at a time as `blocks` keep busy, all of them where their number is known at run time only."""

    def __init__(
        self,
        loop: For,
        units: Sequence[Unit],
        owner: Mapping[Buffer, Buffer],
        handed: frozenset[Buffer],
        blocks: Expr,
        core: Core,
        target: Target,
    ) -> None:
        self.loop, self.units, self.owner, self.target = loop, units, owner, target
        self.core, self.handed = core, handed
        known = constant_value(blocks)
        self.blocks = target.cube_cores if known is None else min(known, target.cube_cores)
        self.costs: dict[Op, Cost] = {}
        self.regions: dict[tuple[Stmt, bool], tuple[tuple[Touch, Region | None], ...]] = {}
        read, written = _tensors(units, False), _tensors(units, True)
        # Only what comes back through gm makes anybody wait.
        self.tensors = read & written
        self.known: dict[tuple[Unit, int], tuple[Work, ...]] = {}
        self.varies: dict[Unit, bool] = {}

    def of(self, unit: Unit, round_: int) -> tuple[Work, ...]:
        if unit not in self.varies:
            self.varies[unit] = self._varies(unit)
        key = (unit, round_ if self.varies[unit] else 0)
        if key not in self.known:
            start = constant_value(self.loop.start) or 0
            values: dict[Var, Expr] = {self.loop.var: Const(start + round_)}
            self.known[key] = tuple(self._body(unit.stmts, values, 1.0))
        return self.known[key]

    @cached_property
    def busiest(self) -> tuple[Pipe, float]:
        """The pipe that has most to do in a round, and for how many cycles."""
        found: dict[Pipe, float] = defaultdict(float)
        for unit in self.units:
            for work in self.of(unit, 0):
                found[work.pipe] += work.cost.busy
        return max(found.items(), key=lambda pair: pair[1], default=(Pipe.S, 0.0))

    def _varies(self, unit: Unit) -> bool:
        """Whether what it does or touches depends on the round, as far as anybody waits for it."""
        asked: list[Expr] = []
        for stmt in walk_statements(unit.stmts):
            match stmt:
                case If() | For() | While() | Let():
                    asked += expressions(stmt)
            for region, _, _, _ in regions_of(stmt):
                if region.memory is not Memory.GM or region.buffer in self.tensors:
                    asked += [e for s in region.dims for e in (s.offset, s.extent)]
        return any(part == self.loop.var for e in asked for part in walk_expr(e))

    def _body(self, body: Body, values: dict[Var, Expr], times: float) -> Iterator[Work]:
        for stmt in body:
            yield from self._stmt(stmt, values, times)

    def _stmt(self, stmt: Stmt, values: dict[Var, Expr], times: float) -> Iterator[Work]:
        own = bool(loads(stmt))
        if own or isinstance(stmt, Store):
            yield self._scalar(stmt, values, times)
        match stmt:
            case Op():
                yield self._op(stmt, values, times)
            case Let(var=var, value=value) if not reads_memory(value):
                values[var] = substitute(value, values)
            case If(condition=condition):
                taken = constant_value(substitute(condition, values))
                if taken is None:
                    taken = not (stmt.unlikely or not stmt.then)
                yield from self._body(stmt.then if taken else stmt.orelse, dict(values), times)
            case For(var=var):
                yield from self._loop(stmt, var, values, times)
            case _:
                for inner in bodies(stmt):
                    yield from self._body(inner, dict(values), times * ASSUMED_ROUNDS)

    def _loop(self, loop: For, var: Var, values: dict[Var, Expr], times: float) -> Iterator[Work]:
        trips = constant_trips(loop, values)
        trips = ASSUMED_ROUNDS if trips is None else max(0, trips)
        shown = min(trips, INNER_ROUNDS)
        start = substitute(loop.start, values)
        for turn in range(shown):
            inside = {**values, var: start + turn}
            yield from self._body(loop.body, inside, times * trips / shown)

    def _scalar(self, stmt: Stmt, values: Mapping[Var, Expr], times: float) -> Work:
        touches = tuple(self._touches(stmt, values, scalar=True))
        whole = stmt if not isinstance(stmt, Op) else None
        each = TIMING.scalar_local * len(touches)
        cycles = cost(whole, self.target).busy if whole is not None else each
        return Work(Pipe.S, Cost(cycles * times, cycles * times), touches)

    def _op(self, op: Op, values: Mapping[Var, Expr], times: float) -> Work:
        if op not in self.costs:
            self.costs[op] = cost(op, self.target, self._assumed(op))
        one = self.costs[op]
        took = Cost(one.busy * times, one.busy * (times - 1) + one.done)
        return Work(pipe_of(op), took, tuple(self._touches(op, values, scalar=False)))

    def _assumed(self, op: Op) -> Assumed:
        if self.core is Core.CUBE:
            return Assumed(cores=self.blocks)
        moved = [r.buffer for r, _ in accesses(op) if r.memory is Memory.GM]
        lanes = self.target.vector_cores // self.target.cube_cores
        return Assumed(in_l2=self.handed.issuperset(moved), cores=self.blocks * lanes)

    def _touches(self, stmt: Stmt, values: Mapping[Var, Expr], scalar: bool) -> Iterator[Touch]:
        key = stmt, scalar
        if key not in self.regions:
            self.regions[key] = tuple(self._found(stmt, scalar))
        for touch, moving in self.regions[key]:
            if moving is not None:
                touch = Touch(touch.buffer, _box(moving, values), touch.writes)
            yield touch

    def _found(self, stmt: Stmt, scalar: bool) -> Iterator[tuple[Touch, Region | None]]:
        """What is touched, and the region where the box depends on variables."""
        for region, access, _, pipe in regions_of(stmt):
            if (pipe is None) is not scalar:
                continue
            if region.memory is Memory.GM and region.buffer not in self.tensors:
                continue
            owner = self.owner.get(region.buffer, region.buffer)
            box = _box(region, {}) if owner is region.buffer else None
            yield Touch(owner, box, access.writes), region if box and None in box else None


def _tensors(units: Sequence[Unit], writes: bool) -> set[Buffer]:
    return {
        b for u in units for b, _, wrote in u.touched if b.memory is Memory.GM and wrote is writes
    }


def _box(region: Region, values: Mapping[Var, Expr]) -> Box:
    found: list[tuple[int, int] | None] = []
    for s in region.dims:
        offset = constant_value(substitute(s.offset, values))
        extent = constant_value(substitute(s.extent, values))
        known = offset is not None and extent is not None
        found.append((offset, offset + extent * s.stride) if known else None)  # type: ignore
    return tuple(found)


class Timetable:
    """Core cycles of a loop with its units in this order, each so many rounds behind as its stage
    says. They are found when they are first asked for: where no statement may move nobody asks."""

    def __init__(
        self,
        work: RoundWork,
        order: Sequence[Unit],
        stage: Mapping[Unit, int],
        versions: Mapping[Buffer, int],
        rounds: int | None,
    ) -> None:
        self._work, self._order, self._stage, self._versions = work, order, stage, versions
        self._rounds = ASSUMED_ROUNDS if rounds is None else rounds

    @property
    def interval(self) -> float:
        """From round to round when the loop runs."""
        return self._run.interval

    @property
    def whole(self) -> float:
        """All its rounds."""
        return self._run.whole

    @property
    def starts(self) -> Mapping[Unit, float]:
        """When each unit of a round from the middle began, from when the first did."""
        return self._run.starts

    @property
    def ends(self) -> Mapping[Unit, float]:
        """When its results can be used."""
        return self._run.ends

    @cached_property
    def _run(self) -> _Run:
        behind = max(self._stage.values(), default=0)
        run = max(1, min(self._rounds, RUN + behind))
        clock = _Clock(self._versions)
        ends = [0.0] * run
        middle = min(SETTLED, run - 1)
        starts: dict[Unit, float] = {}
        lasts: dict[Unit, float] = {}
        for turn in range(run + behind):
            for unit in self._order:
                at = turn - self._stage[unit]
                if 0 <= at < run:
                    start, end = clock.unit(self._work.of(unit, at), at)
                    ends[at] = max(ends[at], end)
                    if at == middle:
                        starts[unit], lasts[unit] = start, end
        # While the loop drains no round begins any more, so the rounds end closer together.
        last = max(run - 1 - behind, min(run - 1, middle + 1))
        interval = (ends[last] - ends[middle]) / (last - middle) if last > middle else max(ends)
        whole = max(ends) + (self._rounds - run) * interval if self._rounds else 0.0
        return _Run(interval, whole, starts, lasts)


class _Run(NamedTuple):
    interval: float
    whole: float
    starts: Mapping[Unit, float]
    ends: Mapping[Unit, float]


class _Use(NamedTuple):
    """What has been touched, by which pipe, until when; `number` counts the work of the clock."""

    touch: Touch
    pipe: Pipe
    until: float
    number: int


class _Clock:
    """When the scalar unit, and each pipe, is free, and until when buffers are in use."""

    def __init__(self, versions: Mapping[Buffer, int]) -> None:
        self.versions = versions
        self.scalar = 0.0
        self.free: dict[Pipe, float] = defaultdict(float)
        self.queue: dict[Pipe, deque[float]] = defaultdict(
            lambda: deque(maxlen=int(TIMING.queue_depth))
        )
        self.used: dict[tuple[Buffer, int], deque[_Use]] = defaultdict(
            lambda: deque(maxlen=MOST_USES)
        )
        # Work of the vector pipe behind its last barrier, and when all of it can be used.
        self.number = self.barrier = 0
        self.results = 0.0

    def unit(self, works: Sequence[Work], round_: int) -> tuple[float, float]:
        """Start and end of the work of a unit in a round."""
        times = [self.work(work, round_) for work in works]
        if not times:
            return self.scalar, self.scalar
        return min(start for start, _ in times), max(done for _, done in times)

    def work(self, work: Work, round_: int) -> tuple[float, float]:
        # Of what a pipe did itself, only results of the vector pipe are not done when it goes on.
        pipe, start = work.pipe, self.scalar
        slots = [(t, (t.buffer, round_ % self.versions.get(t.buffer, 1))) for t in work.touches]
        for touch, slot in slots:
            for use in self.used[slot]:
                if use.pipe is not pipe:
                    if use.until > start and touch.meets(use.touch):
                        start = use.until
                elif (
                    pipe is Pipe.V
                    and use.number > self.barrier
                    and use.touch.writes
                    and touch.meets(use.touch)
                ):
                    start, self.barrier = max(start, self.results), self.number
        self.number += 1
        if pipe is Pipe.S:
            done = self.scalar = start + work.cost.busy
        else:
            queue = self.queue[pipe]
            if len(queue) == queue.maxlen:
                self.scalar = max(self.scalar, queue[0])
            self.scalar += TIMING.scalar_issue
            start = max(start, self.scalar, self.free[pipe])
            queue.append(start)
            self.free[pipe] = start + work.cost.busy
            done = start + work.cost.done
        if pipe is Pipe.V:
            self.results = max(self.results, done)
        for touch, slot in slots:
            self.used[slot].append(_Use(touch, pipe, done, self.number))
        return start, done


__all__ = ["ASSUMED_ROUNDS", "RoundWork", "Timetable"]
