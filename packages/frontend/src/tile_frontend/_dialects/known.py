"""Look names up in the tables of all dialects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from types import ModuleType
from typing import Any

from tile_frontend._dialects.dialect import Dialect
from tile_frontend._dialects.foreign_names import element_here, reduced_here, written_here
from tile_frontend._dialects.tilelang import TILELANG
from tile_frontend._dialects.tilelang_ascend import TILELANG_ASCEND
from tile_frontend._dialects.tilelang_next_chip import TILELANG_NEXT_CHIP
from tile_frontend._dialects.triton_names import TRITON_NAMES
from tile_ir import OPS

DIALECTS = (TILELANG_ASCEND, TILELANG, TILELANG_NEXT_CHIP)
WORKING_MEMORY = tuple(dict.fromkeys(name for d in DIALECTS for name in d.working_memory))
_NAMESPACES = {"tile_frontend": "", "tilelang.language": "", "tile_frontend.tile": "tile"}


_THEIR_MODULE = "tilelang.language"
# A launch of more threads than a block has vector cores, or of several dimensions, is a GPU's.
_MOST_LANES = 2


# The text of a function, with what gives the value of a name around it.
Text = tuple[ast.FunctionDef, Callable[[str], Any]]


def spoken_in(texts: Iterable[Text]) -> Dialect:
    """The dialect of a kernel by the names of modules in its text and in those of its macros, and
    by the modules that their scripts have imported: TileLang's where nothing is of Ascend's."""
    found = set[str]()
    modules = set[str]()
    for function, find in texts:
        for node in ast.walk(function):
            match node:
                case ast.Name(id=name):
                    modules.add(getattr(find(name), "__name__", ""))
                case ast.Attribute(value=ast.Name(id=owner), attr=name):
                    if isinstance(find(owner), ModuleType):  # no attribute of a script's value
                        found.add(name)
                case ast.keyword(arg=str(name)):
                    found.add(f"{name}=")
            if _launches_threads(node) or _yields_one_index(node, find):
                found.update(TILELANG.signs)
    if found & TILELANG_ASCEND.signs:
        return TILELANG_ASCEND
    if found & TILELANG_NEXT_CHIP.signs or modules & TILELANG_NEXT_CHIP.modules:
        return TILELANG_NEXT_CHIP
    return TILELANG if found & TILELANG.signs else TILELANG_ASCEND


def _launches_threads(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "Kernel":
        return False
    for keyword in node.keywords:
        if keyword.arg == "threads":
            value = getattr(keyword.value, "value", None)
            return not isinstance(value, int) or value > _MOST_LANES
    return len(node.args) > _MOST_LANES


def _yields_one_index(node: ast.AST, find: Callable[[str], Any]) -> bool:
    """Whether a launch of the module that other scripts import has the block alone: on Ascend it
    also says `is_npu`, which is a sign of its own, or yields the vector core."""
    if not isinstance(node, ast.With):
        return False
    for item in node.items:
        match item:
            case ast.withitem(
                ast.Call(ast.Attribute(ast.Name(id=module), "Kernel")),
                ast.Name() | ast.Tuple(elts=[ast.Name()]),
            ):
                return getattr(find(module), "__name__", "") == _THEIR_MODULE
    return False


def with_spellings(
    functions: dict[str, Callable[..., Any]], namespace: str
) -> dict[str, Callable[..., Any]]:
    """Functions of a namespace under the names that dialects have for them too."""
    found = (d.operations.get(namespace, {}) for d in DIALECTS)
    return functions | {n: functions[here] for names in found for n, here in names.items()}


def argument_here(name: str, parameters: Sequence[str], given: Collection[str]) -> str:
    """The parameter that an argument of another dialect means; the name itself if there is none."""
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
    """The text to write instead of `module.name`; None if no table has it."""
    namespace = _NAMESPACES.get(module)
    if namespace is None:
        return None
    opdef = OPS.get(name)
    if namespace and opdef is not None and opdef.namespace == "":
        return f"write T.{name}"
    found = (d.removed.get(namespace, {}).get(name) for d in DIALECTS)
    known = next((text for text in found if text), None)
    return known or (TRITON_NAMES.get(name) if not namespace else None) or written_here(name)


def triton_here(name: str, language: Collection[str]) -> str:
    """The text to write instead of a name of Triton, whose tiles are values: elements of
    `T.Parallel` here. `language` has our names; empty if no table has it."""
    found = TRITON_NAMES.get(name) or (element_here(name) if name not in ("max", "min") else None)
    same = f"write T.{name}" if name in language else ""
    return found or reduced_here(name) or same
