"""Define the call of a task with its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tile_frontend._tracing.faults import Fault
from tile_ir import Buffer, Func, Loc, Var


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A task with an argument for each parameter of its kernel: the name of a tensor or scalar of
    the megakernel, or a number."""

    name: str
    func: Func
    arguments: tuple[str | int | float, ...]
    loc: Loc

    def tied(self) -> Sequence[tuple[Buffer, str]]:
        """The tensors of the kernel, each with the name of the one it is."""
        pairs = zip(self.func.params, self.arguments, strict=True)
        return [(p, str(a)) for p, a in pairs if isinstance(p, Buffer)]

    def scalars(self) -> Sequence[tuple[Var, str | int | float]]:
        """The scalars of the kernel, each with the name of one of the megakernel or a number."""
        pairs = zip(self.func.params, self.arguments, strict=True)
        return [(p, a) for p, a in pairs if isinstance(p, Var)]


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
