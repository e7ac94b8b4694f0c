"""Schedule the tasks of a launch: their order, and the first block of each.

List scheduling: among the tasks whose inputs are ready, the one with the longest path to the end
comes next, by the cost query. Loads ahead of other tasks keep their places. A task with fewer
blocks than the launch begins at the block where it finishes first; between equal choices it stays
on the blocks that made its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tile_ir import (
    Body,
    For,
    Func,
    If,
    Op,
    Pipe,
    Section,
    Target,
    bodies,
    constant_value,
    pipe_of,
    walk_ops,
)
from tile_ir.analysis import Ranges, interval, launch_ranges, ranges_inside
from tile_ir.costs.instruction_cost import cost
from tile_ir.ranks import is_symmetric
from tile_passes.tasks.edges import TaskPlace, meet, needs_of
from tile_passes.tasks.instances import accesses_of
from tile_passes.tasks.split import GivenOrder

# The trip count of a loop without a known bound.
_SOME_ITERATIONS = 4
# Tasks whose author says nothing of their order.
_AS_FOUND = GivenOrder()
# Cycles from the end of a task until others go on with what it made: words are counted up and
# looked at (docs/use/megakernels.md#order).
_WAIT = 1300


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """Tasks by number in the order in which blocks run them, the first block of each, and the
    number of blocks of the launch."""

    order: tuple[int, ...]
    firsts: tuple[int, ...]
    blocks: int


def planned(tasks: Sequence[Func], target: Target, given: GivenOrder = _AS_FOUND) -> TaskOrder:
    """The schedule of tasks that are given in a valid order."""
    return _TaskScheduler(tasks, target, given).plan()


def block_cycles(task: Func, target: Target) -> float:
    """Cycles of one block: those of its busiest queue, as if no queue waited for another one."""
    known = launch_ranges(task)
    sections = (s for s in task.launch.body if isinstance(s, Section))
    return max((_core_cycles(s.body, known, target) for s in sections), default=0.0)


def _core_cycles(body: Body, known: Ranges, target: Target) -> float:
    busy: dict[Pipe | None, float] = {}
    for pipe, cycles in _works(body, known, target, 1):
        busy[pipe] = busy.get(pipe, 0) + cycles
    return max(busy.values(), default=0.0)


def _works(
    body: Body, known: Ranges, target: Target, times: float
) -> Iterator[tuple[Pipe | None, float]]:
    for stmt in body:
        yield pipe_of(stmt) if isinstance(stmt, Op) else None, times * cost(stmt, target).busy
        inside = ranges_inside(stmt, known)
        iterations = times * (_iterations(stmt, known) if isinstance(stmt, For) else 1)
        parts = bodies(stmt)
        for part in parts[:1] if isinstance(stmt, If) else parts:
            yield from _works(part, inside, target, iterations)


def _iterations(loop: For, known: Ranges) -> float:
    start, stop = interval(loop.start, known), interval(loop.stop, known)
    most = stop.high - start.low
    return max(0, most) if most < float("inf") else _SOME_ITERATIONS


@dataclass(frozen=True, slots=True)
class _Done:
    """A scheduled task: the first of its blocks, and the cycle at which all have finished."""

    first: int
    end: float


class _TaskScheduler:
    def __init__(self, tasks: Sequence[Func], target: Target, given: GivenOrder) -> None:
        self.tasks, self.given = tasks, given
        self.touched = [accesses_of(task) for task in tasks]
        self.counts = [constant_value(task.launch.blocks) for task in tasks]
        self.needs = [
            [e for e in range(n) if self._ordered(tasks, e, n)] for n in range(len(tasks))
        ]
        self.behind = [
            [*self.needs[n], *(e for e in range(n) if given.keeps(e, n))] for n in range(len(tasks))
        ]
        self.blocks = self._blocks(target.cube_cores)
        self.cycles = [block_cycles(task, target) for task in tasks]
        self.aligned: dict[tuple[int, int], bool] = {}

    def _ordered(self, tasks: Sequence[Func], first: int, then: int) -> bool:
        """Whether the second waits for the first: for a dependence, because both print or share
        memory with other ranks, or because the author says so."""
        told = all(_tells(tasks[n]) for n in (first, then)) or (first, then) in self.given.after
        return told or meet(self.touched[first], self.touched[then])

    def _blocks(self, cores: int) -> int:
        """The number of blocks of all independent tasks together, and at most one for each core.
        Loads ahead are for blocks that are there."""
        depth: list[int] = []
        wanted: dict[int, int] = {}
        for n, needs in enumerate(self.needs):
            depth.append(1 + max((depth[e] for e in needs), default=0))
            count = self.counts[n] if n not in self.given.ahead else 0
            wanted[depth[n]] = wanted.get(depth[n], 0) + (cores if count is None else count)
        return min(cores, max(1, *wanted.values()))

    def plan(self) -> TaskOrder:
        left = self._ways_to_the_end()
        free = [0.0] * self.blocks
        done: dict[int, _Done] = {}
        while len(done) < len(self.needs):
            ready = [
                n
                for n in range(len(self.needs))
                if n not in done and done.keys() >= {*self.behind[n]}
            ]
            chosen = min(ready, key=lambda n: (-left[n], n))
            done[chosen] = self._placed(chosen, free, done)
        return TaskOrder(tuple(done), tuple(d.first for d in done.values()), self.blocks)

    def _ways_to_the_end(self) -> list[float]:
        """For each task, the cycles of the longest path from its start to the end."""
        left = [self._own(n) for n in range(len(self.needs))]
        for n in reversed(range(len(self.needs))):
            for earlier in self.behind[n]:
                left[earlier] = max(left[earlier], self._own(earlier) + _WAIT + left[n])
        return left

    def _own(self, task: int) -> float:
        count = self.counts[task]
        waves = 1 if count is None else -(-count // self.blocks)
        return self.cycles[task] * waves

    def _placed(self, task: int, free: list[float], done: Mapping[int, _Done]) -> _Done:
        """Choose the blocks of a task, and occupy them until it has finished."""
        count = self.counts[task]
        width = self.blocks if count is None else min(count, self.blocks)
        made = [done[n].first for n in self.needs[task] if self._wide(n) == width]
        firsts = [0] if width == self.blocks else [*reversed(made), *range(self.blocks)]
        if task in self.given.ahead:
            # Tasks whose blocks data decide have work for the first ones.
            firsts = [*reversed(range(self.blocks - width + 1))]
        found: tuple[float, int, list[int]] | None = None
        for first in dict.fromkeys(firsts):
            mine = [(first + n) % self.blocks for n in range(width)]
            begin = max(
                max(free[b] for b in mine),
                max((self._there(n, task, first, done) for n in self.needs[task]), default=0.0),
            )
            if found is None or begin < found[0]:
                found = begin, first, mine
        assert found is not None, "some block is the first"
        begin, first, mine = found
        for block in mine:
            free[block] = begin + self._own(task)
        return _Done(first, begin + self._own(task))

    def _wide(self, task: int) -> int:
        count = self.counts[task]
        return self.blocks if count is None else min(count, self.blocks)

    def _there(self, earlier: int, task: int, first: int, done: Mapping[int, _Done]) -> float:
        """The cycle from which a task may read what an earlier one wrote."""
        same = done[earlier].first == first and self._aligned(earlier, task)
        return done[earlier].end + (0 if same else _WAIT)

    def _aligned(self, earlier: int, task: int) -> bool:
        """Whether each block reads only what it wrote itself, if both begin at one block."""
        key = earlier, task
        if key not in self.aligned:
            before, later = (TaskPlace.of(self.tasks[n], 0, self.blocks) for n in key)
            needs = needs_of(self.touched[earlier], self.touched[task], before, later)
            self.aligned[key] = not any(needs)
        return self.aligned[key]


def _tells(task: Func) -> bool:
    """Whether a task prints, or shares memory with other ranks."""
    said = any(op.opdef.family in ("ranks", "debug") for op in walk_ops(task.launch.body))
    return said or any(map(is_symmetric, task.tensors))
