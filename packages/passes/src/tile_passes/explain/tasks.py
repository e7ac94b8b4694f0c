"""List the tasks of a launch as code, core by core; nothing is changed."""

from __future__ import annotations

from tile_ir import Func
from tile_passes.explain.wording import page
from tile_passes.tasks.code_size import CACHES, body_changes, task_code


def explain_tasks(func: Func) -> str:
    """For a launch of tasks that went through all passes: the least bytes of code of each on each
    kind of core. Then the number of changes of a core to the code of another task."""
    code = task_code(func)
    width = max((len(task.name) for task in code), default=0)
    lines = [
        f"{task.name:<{width}}  " + ", ".join(f"{c.value} {n} B" for c, n in task.bytes.items())
        for task in code
    ]
    for core, cache in CACHES.items():
        whole = sum(task.bytes.get(core, 0) for task in code)
        if whole:
            changes = body_changes(code, core)
            lines.append(
                f"{core.value} cores: {whole} B of code, a cache of {cache} B, {changes} changes"
            )
    return page(func, ["", *lines] if code else (), "the kernel has no tasks")
