"""How the language spells the call of an operation: its name and its parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import tile_frontend as T
from tile_ir import OpDef
from tile_runtime.tools.command_line.ops import language_name


@dataclass(frozen=True)
class Parameter:
    name: str
    default: Any
    required: bool
    many: bool
    named: bool = False

    def __str__(self) -> str:
        if self.many or self.named:
            return f"{'**' if self.named else '*'}{self.name}"
        return self.name if self.required else f"{self.name}={self.default!r}"


def native(opdef: OpDef) -> Any:
    """What a script calls."""
    return getattr(T.tile if opdef.namespace == "tile" else T, opdef.name)


def called(value: Any) -> list[Any]:
    """The functions that run when a script calls it."""
    own = [] if isinstance(value, type) else [type(value).__call__]
    return [value, *own, *(f for n in ("build", "adapter") if (f := _function(value, n)))]


def _function(value: Any, name: str) -> Any:
    found = getattr(value, name, None)
    return getattr(found, "__func__", found)


def parameters(opdef: OpDef) -> list[Parameter]:
    return native_parameters(native(opdef))


def needs_count(opdef: OpDef) -> bool:
    """Whether a script has to say how many elements are meant, although the record need not."""
    return any(o.name == "count" and o.optional for o in opdef.operands) and any(
        p.name == "count" and p.required for p in parameters(opdef)
    )


def native_parameters(function: Any) -> list[Parameter]:
    return [
        Parameter(
            p.name,
            p.default,
            p.default is p.empty,
            p.kind is p.VAR_POSITIONAL,
            p.kind is p.VAR_KEYWORD,
        )
        for p in inspect.signature(function).parameters.values()
    ]


def signature(opdef: OpDef) -> str:
    """The call as a script writes it; for what only passes make, name and operands."""
    names = opdef.call_order() if opdef.namespace is None else [str(p) for p in parameters(opdef)]
    return f"{language_name(opdef)}({', '.join(names)})"
