"""Define what a list of tasks has: calls with their arguments, orders and loads ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tile_frontend._tracing.faults import Fault
from tile_ir import Buffer, Func, Loc, Var

# Along a dimension: the first index, and the one behind the last; None is the end of the tensor.
Part = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A task with an argument for each parameter of its kernel: the name of a tensor or scalar of
    the megakernel, or a number. One `ahead` only loads what others read."""

    name: str
    func: Func
    arguments: tuple[str | int | float, ...]
    loc: Loc
    ahead: bool = False

    def tied(self) -> Sequence[tuple[Buffer, str]]:
        """The tensors of the kernel, each with the name of the one it is."""
        pairs = zip(self.func.params, self.arguments, strict=True)
        return [(p, str(a)) for p, a in pairs if isinstance(p, Buffer)]

    def scalars(self) -> Sequence[tuple[Var, str | int | float]]:
        """The scalars of the kernel, each with the name of one of the megakernel or a number."""
        pairs = zip(self.func.params, self.arguments, strict=True)
        return [(p, a) for p, a in pairs if isinstance(p, Var)]


@dataclass(frozen=True, slots=True)
class OrderedTasks:
    """The author's word that a task begins once all blocks of another one are done."""

    first: TaskCall
    then: TaskCall


@dataclass(frozen=True, slots=True)
class LoadAhead:
    """A part of a tensor that so many blocks load, or all. It has a place in a list of tasks."""

    tensor: str
    region: tuple[Part, ...]
    blocks: int | None
    loc: Loc
    source: str


def named_scalars(calls: Sequence[TaskCall]) -> Mapping[str, Var]:
    """The scalars of tasks that are given by name."""
    found: dict[str, Var] = {}
    for call in calls:
        for param, given in call.scalars():
            if isinstance(given, str):
                earlier = found.setdefault(given, Var(given, param.dtype))
                if earlier.dtype != param.dtype:
                    message = f"task `{call.name}`: `{given}` is {param.dtype} here, and "
                    hint = "give the two scalars different names"
                    raise Fault("dtype-mismatch", f"{message}{earlier.dtype} elsewhere", hint)
    return found
