"""Check the order between the tasks of a launch."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.nodes import Body, For


def of_tasks(body: Body) -> Iterator[Diagnostic]:
    """A task runs after tasks that stand before it in the text."""
    before: set[str] = set()
    for loop in _tasks(body):
        assert loop.task is not None, "a task is one"
        for name in loop.task.after:
            if name not in before:
                message = f"task `{loop.task.name}` runs after `{name}`, which is no earlier task"
                yield Diagnostic("task-order", message, loop.loc, "move it behind that task")
        before.add(loop.task.name)


def _tasks(body: Body) -> Iterator[For]:
    """The tasks of a launch, which may stand in one loop over turns."""
    for stmt in body:
        if isinstance(stmt, For):
            inside = (stmt,) if stmt.task is not None else stmt.body
            yield from (s for s in inside if isinstance(s, For) and s.task is not None)


__all__ = ["of_tasks"]
