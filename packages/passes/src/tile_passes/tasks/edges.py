"""Which tasks wait for which: from what they read and write in gm, by their final texts.

A block does the tasks in one order, and its cores meet behind each. So a task waits for others only
where it touches what they have touched; and who waits for a task knows that its blocks are done
with what they have done and waited for before it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tile_ir import Diagnostic, Func, constant_value
from tile_passes.tasks.instances import Counts, TaskAccess, accesses_of, own_only


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """A task that begins once all blocks are done with another one."""

    first: int
    then: int


def edges_between(
    tasks: Sequence[Func], blocks: int, firsts: Sequence[int] = ()
) -> tuple[TaskEdge, ...]:
    """The waits that have to be, of tasks in an order that is right, on so many blocks of which
    each task begins at one of `firsts`, or all at the first."""
    touched = [accesses_of(task) for task in tasks]
    counts = [constant_value(task.launch.blocks) for task in tasks]
    begins = firsts or [0] * len(tasks)
    doing = [blocks_of(count, first, blocks) for count, first in zip(counts, begins, strict=True)]
    known = _Completed.at_first(blocks, doing)
    found: list[TaskEdge] = []
    for then, later in enumerate(touched):
        for first in reversed(range(then)):
            if not meet(touched[first], later) or known.done_before(first, then):
                continue
            a, b, behind = counts[first], counts[then], begins[then] - begins[first]
            both = None if a is None or b is None else Counts(a, b, blocks, behind)
            if both is None or not own_only(touched[first], later, both):
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
