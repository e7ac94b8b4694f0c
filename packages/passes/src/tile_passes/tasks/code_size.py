"""Estimate the code of the tasks of a launch on each kind of core, and count changes of the body.

Sizes are lower bounds from the final text: one instruction for each operation, region and step of
an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tile_ir import (
    Body,
    Core,
    Diagnostic,
    Effect,
    For,
    Func,
    Let,
    LoopKind,
    Op,
    Region,
    Section,
    Stmt,
    bodies,
    constant_value,
    expressions,
    walk,
    walk_expr,
)

# Bytes of an instruction of dav-c220.
INSTRUCTION = 4
# Bytes of the instruction caches of a cube and of a vector core.
CACHES: Mapping[Core, int] = {Core.CUBE: 32 * 1024, Core.VECTOR: 16 * 1024}
# Instructions of a loop: begin, compare and count; of what leads around a branch.
_LOOP, _BRANCH = 3, 1


@dataclass(frozen=True, slots=True)
class TaskCode:
    """Bytes of code of a task on each kind of core that has some."""

    name: str
    bytes: Mapping[Core, int]


def task_code(func: Func) -> tuple[TaskCode, ...]:
    """The code of each task in the final text of a launch, in the order of the text."""
    found: dict[str, dict[Core, int]] = {}
    for core, task in _tasks(func):
        assert task.task is not None, "a task is one"
        size = INSTRUCTION * instructions(task.body)
        of_task = found.setdefault(task.task.name, {})
        if size:
            of_task[core] = size
    return tuple(TaskCode(name, sizes) for name, sizes in found.items())


def body_changes(code: Sequence[TaskCode], core: Core) -> int:
    """The number of changes to another body by a core that runs all tasks."""
    return max(0, sum(core in task.bytes for task in code) - 1)


def large_bodies(func: Func) -> Iterator[Diagnostic]:
    """A remark on each task whose code does not fit into the instruction cache of a core."""
    by_name = {task.task.name: task for _, task in _tasks(func) if task.task is not None}
    for task in task_code(func):
        for core, size in task.bytes.items():
            if size > CACHES[core]:
                yield Diagnostic(
                    "task-code-size",
                    f"task `{task.name}` is at least {size} bytes of code on {core.value} cores, "
                    f"whose instruction cache has {CACHES[core]}: its loops fetch it again and "
                    "again",
                    by_name[task.name].loc,
                    "write T.serial where loops are unrolled, or make two tasks of it",
                    "warning",
                )


def instructions(body: Body) -> int:
    """A lower bound of the instructions of a text."""
    return sum(map(_instructions, body))


def _instructions(stmt: Stmt) -> int:
    inside = sum(map(instructions, bodies(stmt)))
    own = sum(1 for expr in expressions(stmt) for _ in walk_expr(expr))
    match stmt:
        case Op() if stmt.opdef.effect is Effect.DATA:
            return 1 + own + sum(isinstance(o, Region) for o in stmt.operands)
        case Op():
            return 1
        case Let():
            return own
        case For(task=task) if task is not None:
            return inside
        case For(kind=LoopKind.UNROLL, start=start, stop=stop):
            first, last = constant_value(start), constant_value(stop)
            iterations = 8 if first is None or last is None else min(8, last - first)
            return own + _LOOP + inside * max(1, iterations)
        case For():
            return own + _LOOP + inside
    return own + _BRANCH + inside


def _tasks(func: Func) -> Iterator[tuple[Core, For]]:
    for section in func.launch.body:
        if isinstance(section, Section):
            for stmt in walk(section.body):
                if isinstance(stmt, For) and stmt.task is not None:
                    yield section.core, stmt
