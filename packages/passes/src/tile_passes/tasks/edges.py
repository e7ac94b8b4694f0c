"""Compute which tasks wait for which: from their reads and writes in gm, by their final texts.

A block does the tasks in one order, and its cores meet behind each. So a task waits for others only
where both touch the same bytes. Once a block has waited for a task, the blocks of that task are
done with all their earlier work and waits, too.

Tasks that touch memory of other ranks are in order as launches are: a block's signal to another
rank holds for all blocks of its own rank, and so does its wait. Where all tasks
are done several times, the next time waits for the one before it in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tile_ir import Buffer, Diagnostic, Func, Var, constant_value
from tile_ir.ranks import is_symmetric
from tile_passes.tasks.instances import Counts, TaskAccess, accesses_of, own_only


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """A task that begins once all blocks are done with another one: in the same turn, or in the one
    `behind`."""

    first: int
    then: int
    behind: bool = False


def edges_between(
    tasks: Sequence[Func], blocks: int, firsts: Sequence[int] = ()
) -> tuple[TaskEdge, ...]:
    """The waits that have to be, of tasks in an order that is right, on so many blocks of which
    each task begins at one of `firsts`, or all at the first."""
    return _edges(tasks, blocks, firsts or [0] * len(tasks), None)


def edges_of_turns(
    tasks: Sequence[Func], blocks: int, turn: Var, firsts: Sequence[int] = ()
) -> tuple[TaskEdge, ...]:
    """The same where all tasks are done several times, which `turn` counts."""
    count, begins = len(tasks), firsts or [0] * len(tasks)
    found = _edges((*tasks, *tasks), blocks, (*begins, *begins), turn)
    return tuple(
        TaskEdge(e.first % count, e.then - count, e.first < count) for e in found if e.then >= count
    )


def _edges(
    tasks: Sequence[Func], blocks: int, begins: Sequence[int], turn: Var | None
) -> tuple[TaskEdge, ...]:
    """The second half of the tasks is the turn behind the first, if there are turns."""
    touched = [accesses_of(task) for task in tasks]
    shared = [any(is_symmetric(a.tensor) for a in each) for each in touched]
    own = _parts_of_turns([a for each in touched for a in each], turn)
    counts = [constant_value(task.launch.blocks) for task in tasks]
    doing = [blocks_of(count, first, blocks) for count, first in zip(counts, begins, strict=True)]
    known = _Completed.at_first(blocks, doing)
    found: list[TaskEdge] = []
    for then, later in enumerate(touched):
        for first in reversed(range(then)):
            before, ranks = touched[first], shared[first] and shared[then]
            if turn is not None and first < len(tasks) // 2 <= then:
                before = [a for a in before if a.tensor not in own]
            if not (ranks or meet(before, later)) or known.done_before(first, then):
                continue
            a, b, behind = counts[first], counts[then], begins[then] - begins[first]
            both = None if a is None or b is None else Counts(a, b, blocks, behind)
            if ranks or both is None or not own_only(before, later, both):
                found.append(TaskEdge(first, then))
                known.wait(first, then)
        known.do(then)
    return tuple(sorted(found, key=lambda e: (e.then, e.first)))


def blocks_of(count: int | None, first: int, blocks: int) -> tuple[int, ...]:
    """The blocks of a launch that do something of a task that begins at one of them."""
    wide = blocks if count is None else min(count, blocks)
    return tuple((first + n) % blocks for n in range(wide))


@dataclass(frozen=True, slots=True)
class _Completed:
    """For each block, the latest task of every block that is surely complete at a place of the
    list. A wait for a task adds what was complete for the blocks of that task at its end."""

    doing: Sequence[tuple[int, ...]]
    now: list[list[int]]
    then: list[dict[int, tuple[int, ...]]]

    @staticmethod
    def at_first(blocks: int, doing: Sequence[tuple[int, ...]]) -> _Completed:
        return _Completed(doing, [[-1] * blocks for _ in range(blocks)], [])

    def done_before(self, first: int, then: int) -> bool:
        """Whether the first task is surely complete where any block begins the second one."""
        return all(self.now[b][c] >= first for b in self.doing[then] for c in self.doing[first])

    def wait(self, first: int, then: int) -> None:
        told = [max(parts) for parts in zip(*self.then[first].values(), strict=True)]
        for block in self.doing[then]:
            self.now[block] = [max(pair) for pair in zip(self.now[block], told, strict=True)]

    def do(self, task: int) -> None:
        for block in self.doing[task]:
            self.now[block][block] = task
        self.then.append({block: tuple(self.now[block]) for block in self.doing[task]})


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
