"""Which tasks wait for which: from what they read and write in gm, by their final texts.

A block does the tasks in one order, and its cores meet behind each. So a task waits for others only
where it touches what they have touched; and who waits for a task of all blocks knows that these are
done with all tasks before it, too.

Tasks that touch what other ranks reach are in order as launches are: what a block tells another
rank it tells for all blocks of its own, and what it has waited for holds for all. Where all tasks
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


def edges_between(tasks: Sequence[Func], blocks: int) -> tuple[TaskEdge, ...]:
    """The waits that have to be, of tasks in an order that is right, on so many blocks."""
    return _edges(tasks, blocks, None)


def edges_of_turns(tasks: Sequence[Func], blocks: int, turn: Var) -> tuple[TaskEdge, ...]:
    """The same where all tasks are done several times, which `turn` counts."""
    count, found = len(tasks), _edges((*tasks, *tasks), blocks, turn)
    return tuple(
        TaskEdge(e.first % count, e.then - count, e.first < count) for e in found if e.then >= count
    )


def _edges(tasks: Sequence[Func], blocks: int, turn: Var | None) -> tuple[TaskEdge, ...]:
    """The second half of the tasks is the turn behind the first, if there are turns."""
    touched = [accesses_of(task) for task in tasks]
    shared = [any(is_symmetric(a.tensor) for a in each) for each in touched]
    own = _parts_of_turns([a for each in touched for a in each], turn)
    counts = [constant_value(task.launch.blocks) for task in tasks]
    width = [blocks if count is None else min(count, blocks) for count in counts]
    found: list[TaskEdge] = []
    for then, later in enumerate(touched):
        for first in reversed(range(then)):
            before, ranks = touched[first], shared[first] and shared[then]
            if turn is not None and first < len(tasks) // 2 <= then:
                before = [a for a in before if a.tensor not in own]
            if not (ranks or _meet(before, later)) or _implied(first, then, found, width):
                continue
            a, b = counts[first], counts[then]
            if ranks or a is None or b is None or not own_only(before, later, Counts(a, b, blocks)):
                found.append(TaskEdge(first, then))
    return tuple(sorted(found, key=lambda e: (e.then, e.first)))


def _implied(first: int, then: int, found: Sequence[TaskEdge], width: Sequence[int]) -> bool:
    """Whether a wait that is there makes another one needless: every block that does the first task
    is done with it before what is waited for, and every block that does the second waits."""
    return any(
        first <= e.first
        and e.then <= then
        and width[first] <= width[e.first]
        and width[then] <= width[e.then]
        for e in found
    )


def _meet(first: Sequence[TaskAccess], then: Sequence[TaskAccess]) -> bool:
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
