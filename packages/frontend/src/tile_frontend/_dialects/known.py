"""Look names up in the tables of all dialects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tile_frontend._dialects.foreign_names import written_here
from tile_frontend._dialects.tilelang_ascend import TILELANG_ASCEND
from tile_ir import OPS

DIALECTS = (TILELANG_ASCEND,)
WORKING_MEMORY = tuple(dict.fromkeys(name for d in DIALECTS for name in d.working_memory))
_NAMESPACES = {"tile_frontend": "", "tilelang.language": "", "tile_frontend.tile": "tile"}


def with_spellings(
    functions: dict[str, Callable[..., Any]], namespace: str
) -> dict[str, Callable[..., Any]]:
    """Functions of a namespace under the names that dialects have for them too."""
    found = (d.operations.get(namespace, {}) for d in DIALECTS)
    return functions | {n: functions[here] for names in found for n, here in names.items()}


def argument_here(name: str, parameters: Sequence[str], given: Collection[str]) -> str:
    """What an operation with these parameters calls an argument; the name itself if it calls
    nothing so."""
    if name in parameters:
        return name
    for dialect in DIALECTS:
        if dialect.same_arguments.get(name) in parameters:
            return dialect.same_arguments[name]
        for here in dialect.arguments.get(name, ()):
            if here in parameters and here not in given:
                return here
    return name


def advice(module: str, name: str) -> str | None:
    """What to write instead of `module.name`, if that is known."""
    namespace = _NAMESPACES.get(module)
    if namespace is None:
        return None
    opdef = OPS.get(name)
    if namespace and opdef is not None and opdef.namespace == "":
        return f"write T.{name}"
    found = (d.removed.get(namespace, {}).get(name) for d in DIALECTS)
    return next((text for text in found if text), None) or written_here(name)
