"""The tasks of a kernel as kernels of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    For,
    Func,
    KernelError,
    Launch,
    Memory,
    Op,
    Var,
    buffers_of,
    variables_of,
    walk,
    walk_expr,
)


@dataclass(frozen=True, slots=True)
class GivenOrder:
    """The order of tasks that their author gives, by their numbers. In a pair `after`, all blocks
    of the first are done before a block of the second begins. Tasks `ahead` only load for others,
    and keep their places."""

    after: frozenset[tuple[int, int]] = frozenset()
    ahead: frozenset[int] = frozenset()

    @staticmethod
    def of(func: Func) -> GivenOrder:
        """As the text of a kernel says it."""
        kernels = [loop.task for loop in task_loops(func) if loop.task is not None]
        number = {kernel.name: n for n, kernel in enumerate(kernels)}
        pairs = ((number[name], n) for n, k in enumerate(kernels) for name in k.after)
        return GivenOrder(frozenset(pairs), frozenset(n for n, k in enumerate(kernels) if k.ahead))

    def renumbered(self, order: Sequence[int]) -> GivenOrder:
        """The same where the tasks are taken in this order."""
        place = {n: at for at, n in enumerate(order)}
        pairs = frozenset((place[a], place[b]) for a, b in self.after)
        return GivenOrder(pairs, frozenset(place[n] for n in self.ahead))

    def keeps(self, first: int, then: int) -> bool:
        """Whether two tasks stay in the order of the text without a wait."""
        return bool(self.ahead & {first, then})


def turns_of(func: Func) -> For | None:
    """The loop that does all tasks several times, if they stand in one."""
    match func.launch.body:
        case (For(task=None, body=(For(task=task), *_)) as loop,) if task is not None:
            return loop
    return None


def _around(func: Func) -> Body:
    turns = turns_of(func)
    return func.launch.body if turns is None else turns.body


def task_loops(func: Func) -> tuple[For, ...]:
    """The loops over the blocks of tasks; none in a kernel that has no tasks."""
    return tuple(s for s in _around(func) if isinstance(s, For) and s.task is not None)


def tasks_of(func: Func) -> Iterator[Func]:
    """Each task as a kernel that takes the tensors and scalars it uses, room in gm included."""
    loops = task_loops(func)
    if len(loops) != len(_around(func)):
        other = next(s for s in _around(func) if s not in loops)
        hint = "write the statement into a task"
        raise KernelError("task-text", "a statement stands beside tasks", other.loc, hint)
    for loop in loops:
        yield _kernel(func, loop)


def rooms(func: Func) -> tuple[Buffer, ...]:
    """The buffers in gm that a kernel has for itself, for one call."""
    return tuple(a.buffer for a in func.launch.allocs if _is_room(a))


def _is_room(alloc: Alloc) -> bool:
    return alloc.buffer.memory is Memory.GM and alloc.alias_of is None


def _kernel(func: Func, loop: For) -> Func:
    task = loop.task
    assert task is not None, "the loop is one over the blocks of a task"
    body, end = loop.body[:-1], loop.body[-1]
    assert isinstance(end, Op), "the cores of the block wait for each other at the end"
    touched = {b for stmt in walk(body) for b in buffers_of(stmt)}
    allocs = [a for a in func.launch.allocs if a.buffer in touched and not _is_room(a)]
    roots = {a.alias_of for a in allocs if a.alias_of is not None}
    on_chip = {a.buffer for a in allocs}
    allocs += [a for a in func.launch.allocs if a.buffer in roots - on_chip and not _is_room(a)]
    used = touched | roots
    tensors = tuple(t for t in (*func.tensors, *rooms(func)) if t in used)
    named = {v for stmt in walk(body) for v in variables_of(stmt)}
    named |= {v for v in walk_expr(loop.stop) if isinstance(v, Var)}
    turns = turns_of(func)
    known = (*func.params, *([] if turns is None else [turns.var]))
    scalars = tuple(p for p in known if isinstance(p, Var) and p in named)
    placed = sorted(allocs, key=lambda a: a.alias_of is not None)
    launch = Launch(
        loop.stop, loop.var, func.launch.lane, task.threads, tuple(placed), body, loop.loc
    )
    return replace(
        func,
        name=task.name,
        params=(*tensors, *scalars),
        launch=launch,
        loc=loop.loc,
        automatic=task.automatic,
        remarks=(),
    )
