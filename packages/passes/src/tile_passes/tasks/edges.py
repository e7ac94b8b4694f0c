"""Find the waits between the blocks of tasks, from the places in gm that their final texts access.

A block runs the tasks in one order, and its cores meet behind each. So a wait is needed only for
places that another block has accessed. A wait for a block also covers all earlier tasks of that
block, and its earlier waits.

Tasks that access symmetric tensors are in order as launches are: a signal to another rank is one
for all blocks of a rank, and so is a wait. So are two tasks whose order the author gives. If all
tasks run several times, the next turn waits for the one before it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tile_ir import Buffer, Diagnostic, Func, Var, constant_value
from tile_ir.ranks import is_symmetric
from tile_passes.tasks.instances import TaskAccess, accesses_of, conflicts
from tile_passes.tasks.windows import BlockWindow, whole, window_of

# Pairs of tasks of which the second waits for all blocks of the first.
Given = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """A task whose blocks begin once those of another one in their window are done with it: in the
    same turn, or in the one `behind`."""

    first: int
    then: int
    window: BlockWindow
    behind: bool = False


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where a task is done: how many blocks it has, if that is a number, and the blocks of the
    launch that do something of it, from the one that does the first."""

    count: int | None
    blocks: tuple[int, ...]

    @staticmethod
    def of(task: Func, first: int, blocks: int) -> TaskPlace:
        count = constant_value(task.launch.blocks)
        wide = blocks if count is None else min(count, blocks)
        return TaskPlace(count, tuple((first + n) % blocks for n in range(wide)))


def edges_between(
    tasks: Sequence[Func], blocks: int, firsts: Sequence[int] = (), given: Given = frozenset()
) -> tuple[TaskEdge, ...]:
    """The waits that have to be, of tasks in an order that is right, on so many blocks of which
    each task begins at one of `firsts`, or all at the first. `given` are pairs of tasks of which
    the second waits for all of the first."""
    return _edges(tasks, blocks, firsts or [0] * len(tasks), given, None)


def edges_of_turns(
    tasks: Sequence[Func], blocks: int, turn: Var, firsts: Sequence[int] = (),
    given: Given = frozenset(),
) -> tuple[TaskEdge, ...]:  # fmt: skip
    """The same where all tasks are done several times, which `turn` counts. A block counts the next
    turn only once no other one looks for this turn: a wait may be wider than what is accessed."""
    count, begins = len(tasks), firsts or [0] * len(tasks)
    twice = given | {(first + count, then + count) for first, then in given}
    looks: frozenset[TaskEdge] = frozenset()
    while True:
        edges = _edges((*tasks, *tasks), blocks, (*begins, *begins), twice, turn, looks)
        found = [
            (e.then, TaskEdge(e.first % count, e.then % count, e.window, e.first < count <= e.then))
            for e in edges
        ]
        if looks.issuperset(edge for _, edge in found):
            return tuple(edge for then, edge in found if then >= count)
        looks = looks.union(edge for _, edge in found)


def _edges(
    tasks: Sequence[Func], blocks: int, begins: Sequence[int], given: Given, turn: Var | None,
    looks: Iterable[TaskEdge] = (),
) -> tuple[TaskEdge, ...]:  # fmt: skip
    """The second half of the tasks is the turn behind the first, if there are turns: then `looks`
    are waits for words that the tasks count up."""
    touched = [accesses_of(task) for task in tasks]
    shared = [any(is_symmetric(a.tensor) for a in each) for each in touched]
    own = _parts_of_turns([a for each in touched for a in each], turn)
    places = [TaskPlace.of(task, n, blocks) for task, n in zip(tasks, begins, strict=True)]
    known = _Completed.at_first(blocks, places)
    found: list[TaskEdge] = []
    for then, later in enumerate(touched):
        for first in reversed(range(then)):
            before = touched[first]
            all_of_it = (shared[first] and shared[then]) or (first, then) in given
            if turn is not None and first < len(tasks) // 2 <= then:
                before = [a for a in before if a.tensor not in own]
            seen = [look for look in looks if _is_between(look, first, then, len(tasks) // 2)]
            if not (all_of_it or seen or meet(before, later)) or known.done_before(first, then):
                continue
            tellers = len(places[first].blocks)
            needs = [frozenset(range(tellers))] * len(places[then].blocks)
            if not all_of_it:
                needs = needs_of(before, later, places[first], places[then])
                looking = _lookers(seen, places[first], places[then])
                needs = [met | more for met, more in zip(needs, looking, strict=True)]
                needs = known.left(first, then, needs)
            if any(needs):
                window = whole(tellers) if all_of_it else window_of(needs, tellers)
                found.append(TaskEdge(first, then, window))
                known.wait(first, then, window)
        known.do(then)
    return tuple(sorted(found, key=lambda e: (e.then, e.first)))


def needs_of(
    first: Sequence[TaskAccess], then: Sequence[TaskAccess], before: TaskPlace, later: TaskPlace
) -> list[frozenset[int]]:
    """For each block of the launch that runs a part of the second task, by its place there: the
    places of the blocks of the first that access the same. A block needs no wait for itself."""
    wide, width = len(before.blocks), len(later.blocks)
    if before.count is None or later.count is None:
        return [frozenset(range(wide))] * width
    found: list[set[int]] = [set() for _ in range(width)]
    for n, met in enumerate(conflicts(first, then, (before.count, later.count))):
        found[n % width].update(m % wide for m in met)
    return [
        frozenset(m for m in met if before.blocks[m] != block)
        for met, block in zip(found, later.blocks, strict=True)
    ]


def _is_between(look: TaskEdge, first: int, then: int, count: int) -> bool:
    """Whether a task looks at a word that another one counts up next, the tasks numbered through
    two turns of so many."""
    turns = then // count - first // count
    return (look.then, look.first, not look.behind) == (first % count, then % count, turns)


def _lookers(
    looks: Sequence[TaskEdge], before: TaskPlace, later: TaskPlace
) -> list[frozenset[int]]:
    """For each block of the second task, those of the first that look at its words before."""
    wide, numbers = len(later.blocks), range(len(before.blocks))
    seen = [(n, m) for look in looks for n in numbers for m in look.window.blocks(n, wide)]
    return [
        frozenset(n for n, m in seen if m == number and before.blocks[n] != block)
        for number, block in enumerate(later.blocks)
    ]


@dataclass(frozen=True, slots=True)
class _Completed:
    """For each block, the latest task of every block that is surely complete at a place of the
    list. A wait for a block adds what was complete for it at the end of its task."""

    places: Sequence[TaskPlace]
    now: list[list[int]]
    then: list[dict[int, tuple[int, ...]]]

    @staticmethod
    def at_first(blocks: int, places: Sequence[TaskPlace]) -> _Completed:
        return _Completed(places, [[-1] * blocks for _ in range(blocks)], [])

    def done_before(self, first: int, then: int) -> bool:
        """Whether the first task is surely complete where any block begins the second one."""
        wanted = self.places[first].blocks
        return all(self.now[b][c] >= first for b in self.places[then].blocks for c in wanted)

    def left(self, first: int, then: int, needs: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """For each block of the second task, the blocks of the first that may be incomplete."""
        told = self.places[first].blocks
        return [
            frozenset(m for m in need if self.now[block][told[m]] < first)
            for need, block in zip(needs, self.places[then].blocks, strict=True)
        ]

    def wait(self, first: int, then: int, window: BlockWindow) -> None:
        told = self.places[first].blocks
        for number, block in enumerate(self.places[then].blocks):
            for m in window.blocks(number, len(told)):
                done = self.then[first][told[m]]
                self.now[block] = [max(pair) for pair in zip(self.now[block], done, strict=True)]

    def do(self, task: int) -> None:
        for block in self.places[task].blocks:
            self.now[block][block] = task
        self.then.append({b: tuple(self.now[b]) for b in self.places[task].blocks})


def meet(first: Sequence[TaskAccess], then: Sequence[TaskAccess]) -> bool:
    """Whether one of two tasks writes what the other one touches."""
    wrote = {a.tensor for a in first if a.writes}
    read = {a.tensor for a in first}
    return any(b.tensor in (read if b.writes else wrote) for b in then)


def _parts_of_turns(touched: Sequence[TaskAccess], turn: Var | None) -> set[Buffer]:
    """Tensors of which each turn touches a part of its own."""
    return {a.tensor for a in touched} - {
        a.tensor for a in touched if not a.region.dims or a.region.dims[0].offset != turn
    }


def unknown_places(tasks: Sequence[Func]) -> list[Diagnostic]:
    """A remark on each tensor of which data decides what a task touches."""
    found: dict[tuple[str, str], Diagnostic] = {}
    for task in tasks:
        for access in accesses_of(task):
            if access.by_data:
                message = f"data decide what task `{task.name}` touches of `{access.tensor.name}`: "
                remark = Diagnostic(
                    "task-whole-tensor",
                    f"{message}it waits for all blocks of the tasks that touch the tensor",
                    task.loc,
                    None,
                    "warning",
                )
                found.setdefault((task.name, access.tensor.name), remark)
    return list(found.values())
