"""Take a list of tasks apart: calls with names of their own, and the order between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tile_frontend._megakernels.ahead import loading, needless
from tile_frontend._megakernels.calls import LoadAhead, OrderedTasks, TaskCall
from tile_frontend._megakernels.dependences import TaskUse, uses_of
from tile_frontend._tracing.faults import Fault
from tile_ir import Diagnostic


@dataclass(frozen=True, slots=True)
class Listed:
    """The calls of a list, loads ahead among them, with the tensors that each uses; pairs of which
    the second begins once the first is done; and remarks on what means nothing."""

    calls: Sequence[TaskCall]
    uses: Sequence[TaskUse]
    given: frozenset[tuple[int, int]]
    remarks: Sequence[Diagnostic]


def listed(parts: Sequence[TaskCall | OrderedTasks | LoadAhead]) -> Listed:
    """Take a list apart."""
    named = [part for part in parts if isinstance(part, TaskCall)]
    uses = uses_of(named)
    lanes = 1 if all(call.func.launch.threads == 1 for call in named) else 2
    calls: list[TaskCall] = []
    numbers: list[int] = []  # of the named calls, among all
    remarks: list[Diagnostic] = []
    for part in parts:
        match part:
            case TaskCall():
                numbers.append(len(calls))
                calls.append(part)
            case LoadAhead() if (why := needless(part, len(numbers), named, uses)) is not None:
                remarks.append(why)
            case LoadAhead():
                calls.append(loading(part, named, lanes))
    orders = [part for part in parts if isinstance(part, OrderedTasks)]
    given = frozenset(
        (numbers[_place(o.first, named)], numbers[_place(o.then, named)]) for o in orders
    )
    return Listed(_named_apart(calls), uses_of(calls), given, remarks)


def _place(call: TaskCall, named: Sequence[TaskCall]) -> int:
    places = [n for n, other in enumerate(named) if other is call]
    if len(places) != 1:
        often = "stands more than once in" if places else "does not stand in"
        message = f"T.after: task `{call.name}` {often} the list of T.megakernel"
        raise Fault("operand-kind", message, "name each call once, and put it into the list")
    return places[0]


def _named_apart(tasks: Sequence[TaskCall]) -> list[TaskCall]:
    """The tasks, those of one name with numbers."""
    counts: dict[str, int] = {}
    names = [task.name for task in tasks]
    found = []
    for task in tasks:
        counts[task.name] = counts.get(task.name, 0) + 1
        many = names.count(task.name) > 1
        found.append(replace(task, name=f"{task.name}_{counts[task.name]}") if many else task)
    return found
