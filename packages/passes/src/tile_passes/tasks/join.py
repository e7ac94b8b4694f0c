"""One launch of tasks that are compiled: each block does its share of every task, and waits by
words in gm for what others do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tile_ir import (
    INT32,
    Alloc,
    Body,
    Buffer,
    Const,
    Core,
    Effect,
    Expr,
    For,
    Func,
    If,
    KernelError,
    Launch,
    Let,
    LoopKind,
    Op,
    Phase,
    Section,
    Stmt,
    Target,
    TaskKernel,
    Var,
    ceildiv,
    constant_value,
    equal,
    minimum,
    rewrite,
    simplify,
    variables_of,
    walk,
    walk_ops,
)
from tile_ir.analysis import Facts, Interval, decided, facts_in, regions_of
from tile_ir.embedding import Embedded, embedded
from tile_ir.opdef import Among
from tile_ir.ranks import STEP, is_far, is_symmetric
from tile_passes.free_names import FreeNames
from tile_passes.tasks.code_size import large_bodies
from tile_passes.tasks.counts import TaskCounts, operation
from tile_passes.tasks.edges import Given, edges_between, edges_of_turns, unknown_places
from tile_passes.tasks.flags import refuse_counters
from tile_passes.tasks.instances import accesses_of
from tile_passes.tasks.prefetch import prefetched
from tile_passes.tasks.schedule import TaskOrder, planned
from tile_passes.tasks.split import GivenOrder, rooms, turns_of
from tile_passes.tasks.unwritten import refuse_unwritten


def joined(func: Func, tasks: Sequence[Func], target: Target) -> Func:
    """The final text of `func`, whose tasks went through all passes."""
    for task in tasks:
        refuse_counters(task, target)
    refuse_unwritten(func, tasks)
    given = GivenOrder.of(func)
    plan = planned(tasks, target, given)
    in_order = tuple(tasks[n] for n in plan.order)
    return _Joiner(func, in_order, target, plan, given.renumbered(plan.order).after).func()


@dataclass(frozen=True, slots=True)
class _Placed:
    """A task in the text of all. `most` is its number of blocks, if that is constant, and `first`
    the block of the launch that does the first of them. `mixed` says that both kinds of core work
    in it."""

    task: Func
    text: Embedded
    instance: Var
    most: int | None
    mixed: bool
    first: int

    def body(self, core: Core) -> Body:
        sections = (s for s in self.text.body if isinstance(s, Section) and s.core is core)
        return tuple(stmt for section in sections for stmt in section.body)


@dataclass
class _Joiner:
    source: Func
    tasks: tuple[Func, ...]
    target: Target
    plan: TaskOrder
    given: Given
    allocs: list[Alloc] = field(default_factory=list)
    added: list[Buffer] = field(default_factory=list)

    def func(self) -> Func:
        func, tasks = self.source, self.tasks
        turns = turns_of(func)
        self.names = FreeNames.of(func)
        self.step = Var(self.names.fresh("step"), INT32)
        self.turn: Expr = Const(0) if turns is None else turns.var
        self.number = self.step if turns is None else Var(self.names.fresh("number"), INT32)
        self.loc = replace(func.launch.loc, generated=True)
        self.block, self.lane = (Var(self.names.fresh(n)) for n in ("block", "lane"))
        self.lanes = self._lanes()
        self.blocks, firsts = self.plan.blocks, self.plan.firsts
        placed = [self._placed(task, first) for task, first in zip(tasks, firsts, strict=True)]
        self.placed = placed
        if turns is None or constant_value(turns.stop) == 1:
            self.edges = edges_between(tasks, self.blocks, firsts, self.given)
        else:
            self.edges = edges_of_turns(tasks, self.blocks, turns.var, firsts, self.given)
        self.fixed = _never_written(func, tasks)
        named = (self.names.fresh("words"), self.names.fresh("added"))
        self.counts = TaskCounts.of(
            self.edges, [self._wide(n) for n in range(len(tasks))], self.blocks, named, self.allocs,
            self.target, self.loc,
        )  # fmt: skip
        if self.edges and self.counts.line is not None:
            self.allocs.append(self.counts.line)
        self.cubes = any(p.body(Core.CUBE) for p in placed)
        kinds = (Core.CUBE, Core.VECTOR) if self.cubes else (Core.VECTOR,)
        sections = tuple(self._section(core, placed, turns) for core in kinds)
        launch = Launch(
            Const(self.blocks), self.block, self.lane, self.lanes, tuple(self.allocs), sections,
            func.launch.loc,
        )  # fmt: skip
        used = {v for section in sections for s in walk((section,)) for v in variables_of(s)}
        counted: tuple[Buffer | Var, ...] = (
            *([self.counts.words] if self.edges else []),
            *([self.step] if self.step in used else []),
        )
        params = (*func.params, *rooms(func), *self.added, *counted)
        done = replace(
            func,
            params=params,
            launch=launch,
            phase=Phase.SYNCED,
            automatic=frozenset().union(*(t.automatic for t in tasks)),
            remarks=(*func.remarks, *(r for t in tasks for r in t.remarks), *unknown_places(tasks)),
        )
        return replace(done, remarks=(*done.remarks, *large_bodies(done)))

    def _lanes(self) -> int | None:
        lanes = {t.launch.threads for t in self.tasks}
        sections = (s.core for t in self.tasks for s in t.launch.body if isinstance(s, Section))
        if lanes == {1} and Core.CUBE in sections:
            return 1
        for task in self.tasks:
            if task.launch.threads == 1 and _signals_cubes(task):
                raise KernelError(
                    "task-flags",
                    f"in task `{task.name}` a cube core and one vector core signal each other, and "
                    "other tasks have two vector cores: a signal counts once both have set it",
                    task.launch.loc,
                    "launch it with threads=2, or all tasks with threads=1",
                )
        return None

    def _placed(self, task: Func, first: int) -> _Placed:
        instance = Var(self.names.fresh(f"{task.name}_block"))
        launch = task.launch
        known = (*self.source.tensors, *rooms(self.source))
        tensors = {t: t for t in task.tensors if t in known}
        values = {v: v for v in (*task.symbols, *(p for p in task.params if isinstance(p, Var)))}
        indices = {launch.block: instance, launch.lane: self.lane, STEP: self.step}
        text = embedded(task, tensors, {**values, **indices}, self.names.fresh)
        self.allocs.extend(text.allocs)
        self.added.extend(text.added)
        kinds = {s.core for s in launch.body if isinstance(s, Section)}
        return _Placed(task, text, instance, constant_value(text.blocks), len(kinds) > 1, first)

    # The text of a core ------------------------------------------------------------------------

    def _section(self, core: Core, placed: Sequence[_Placed], turns: For | None) -> Section:
        body: list[Stmt] = []
        for number, p in enumerate(placed):
            once = Var(self.names.fresh(f"{p.task.name}_task"))
            kernel = TaskKernel(p.task.name, None)
            done = tuple(self._task(core, number, p))
            body.append(For(once, Const(0), Const(1), LoopKind.TASK, done, self.loc, task=kernel))
        if turns is not None:
            counted = Let(self.number, simplify(self.step + turns.var), self.loc)
            whole = (counted, *rewrite(tuple(body), partial(_with_turn, facts=facts_in(turns, {}))))
            body = [For(turns.var, turns.start, turns.stop, LoopKind.SERIAL, whole, turns.loc)]
        return Section(core, tuple(body), self.loc)

    def _task(self, core: Core, number: int, p: _Placed) -> list[Stmt]:
        """Wait, do the block's share, and signal."""
        work = p.body(core)
        if p.task.launch.threads == 1 and self.lanes is None and core is Core.VECTOR and work:
            work = rewrite(work, self._alone)
            work = (If(equal(self.lane, Const(0)), work, (), self.loc),)
        waits, iterations = self._waits(core, number), self._iterations(p, work)
        # What the author puts after another task begins there, its loads too.
        if waits and not any(then == number for _, then in self.given):
            known = {
                self.block: Interval(0, self.blocks - 1),
                self.lane: Interval(0, (self.lanes or 2) - 1),
            }
            moved = prefetched(tuple(iterations), self.allocs, self.fixed, known)
            waits, iterations = [*moved.early, *waits], [*moved.rest]
        result: list[Stmt] = [*waits, *iterations]
        if any(is_far(r) and a.writes for s in walk(work) for r, a, *_ in regions_of(s)):
            result.append(self._op("quiet"))
        awaited = any(e.first == number for e in self.edges)
        result.append(self._op("sync_block"))
        if awaited and core is Core.VECTOR:
            result += self._tell(number, p)
        if p.most is not None and p.most < self.blocks:
            mine = self._turn(p) < p.most
            return [If(mine, tuple(result), (), self.loc)]
        return result

    def _alone(self, stmt: Stmt) -> Stmt:
        """Where one vector core does the task, it is all that meet in a barrier of such cores."""
        meets = isinstance(stmt, Op) and stmt.opdef.among is Among.BLOCK
        return replace(self._op("barrier_all"), loc=stmt.loc) if meets else stmt

    def _waits(self, core: Core, number: int) -> list[Stmt]:
        """The cores of the block share the words that it waits for, and meet."""
        edges = [e for e in self.edges if e.then == number]
        if not edges:
            return []
        cores = (self.lanes or 2) + self.cubes
        # The vector core that counts up comes last.
        own: Expr = Const(0) if core is Core.CUBE else simplify(cores - 1 - self.lane)
        looks: dict[bool, list[Stmt]] = {False: [], True: []}
        block = self._turn(self.placed[number])
        for edge in edges:
            told = self.number - 1 if edge.behind else self.number
            turn = Var(self.names.fresh("look"))
            wide = (self._wide(edge.first), self._wide(number))
            look = self.counts.look(edge, wide, block, told, (own, cores), turn)
            looks[edge.behind].append(look)
        behind = looks[True]
        if behind:
            behind = [If(self.turn > 0, tuple(behind), (), self.loc)]
        return [*behind, *looks[False], self._op("sync_block")]

    def _iterations(self, p: _Placed, work: Body) -> list[Stmt]:
        """The instances of a block: every so many."""
        if not work and not p.mixed:
            return []
        count, blocks = p.text.blocks, Const(self.blocks)
        if p.most is not None and p.most <= self.blocks:
            return [Let(p.instance, self._turn(p), self.loc), *work]
        turn = Var(self.names.fresh("turn"))
        number: Expr = turn * blocks + self.block
        iterations = ceildiv(count - self.block, blocks)
        if p.most is not None:
            number = minimum(number, Const(p.most - 1))
        body = (
            Let(p.instance, number, self.loc),
            *work,
            self._op("sync_block" if p.mixed else "barrier_all"),
        )
        return [For(turn, Const(0), simplify(iterations), LoopKind.SERIAL, body, self.loc)]

    def _wide(self, number: int) -> int:
        """The number of blocks of the launch that run a part of a task."""
        most = constant_value(self.tasks[number].launch.blocks)
        return self.blocks if most is None else min(most, self.blocks)

    def _turn(self, p: _Placed) -> Expr:
        """Which block the first of the launch would be, were it the first of the task."""
        behind = (self.blocks - p.first) % self.blocks
        return (self.block + behind) % self.blocks if behind else self.block

    def _tell(self, number: int, p: _Placed) -> list[Stmt]:
        """Say that the block is done with a task."""
        tell = tuple(self.counts.tell(number, self._turn(p), self._wide(number), self.number))
        if self.lanes is not None:
            return list(tell)
        return [If(equal(self.lane, Const(0)), tell, (), self.loc)]

    def _op(self, name: str) -> Op:
        return operation(name, self.loc)


def _never_written(func: Func, tasks: Sequence[Func]) -> frozenset[Buffer]:
    """The parameters that hold the same during the whole launch."""
    written = {a.tensor for task in tasks for a in accesses_of(task) if a.writes}
    return frozenset(t for t in func.tensors if t not in written and not is_symmetric(t))


def _with_turn(stmt: Stmt, facts: Facts) -> Stmt | Body:
    """The statement, without the branches on the existence of a part for the turn: in the launch
    that is certain."""
    match stmt:
        case If(condition=condition) if (truth := decided(condition, {}, facts)) is not None:
            return stmt.then if truth else stmt.orelse
    return stmt


def _signals_cubes(task: Func) -> bool:
    flags = (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG)
    return any(
        op.opdef.effect in flags or (op.opdef.among is Among.BLOCK and op.attr("cubes"))
        for op in walk_ops(task.launch.body)
    )
