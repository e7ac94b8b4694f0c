"""List the changes that a script needs, by its text alone.

Each name of the language has an outcome. The script is neither imported nor run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Literal

from tile_frontend._dialects import next_chip_names
from tile_frontend._dialects.gpu_names import (
    ARGUMENTS_WITHOUT_EFFECT,
    HINT_OBJECTS,
    LOWERED,
    NO_EFFECT,
    SMALL_FLOAT,
    SMALL_FLOATS,
    STOPPING_ARGUMENTS,
    stops,
)
from tile_frontend._dialects.imported_modules import import_table
from tile_frontend._dialects.known import advice, triton_here
from tile_frontend._dialects.name_groups import NameGroup
from tile_ir import did_you_mean
from tile_ir.quick_dataclasses import dataclass

_REWRITE = "write each kernel with `import tile_frontend as T`: docs/use/coming_from_triton.md"
Outcome = Literal["error", "no effect", "lowered"]
ORDER: tuple[Outcome, ...] = ("error", "no effect", "lowered")
_LANGUAGE = ("tilelang.language", "tilelang.ascend.language", "tile_frontend")
_PACKAGES = ("tilelang", "tvm", "triton")
# Names of Triton are looked up among ours, which say what to write instead.
_TRITON = ("triton", "triton.language")


@dataclass(frozen=True, slots=True)
class PortedName:
    """One use of a name in a script: its place, its outcome, and the replacement where it stops."""

    line: int
    column: int
    name: str
    outcome: Outcome
    says: str
    write: str = ""

    def __str__(self) -> str:
        instead = f"; {self.write}" if self.write else ""
        return f"{self.outcome}: {self.name}: {self.says}{instead}"


def porting_list(tree: ast.Module) -> list[PortedName]:
    """List the names of a script that change: errors first, then by place. A name with the same
    meaning in both dialects is not in the list."""
    bound = _imported(tree)
    found = {*_imports(tree), *_uses(tree, bound), *_types(tree)}
    return sorted(found, key=lambda f: (ORDER.index(f.outcome), f.line, f.column, f.name))


def _imported(tree: ast.Module) -> dict[str, str]:
    """The places in modules of the language that names of the script stand for."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    bound[alias.asname or root] = alias.name if alias.asname else root
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    bound[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as value):
                place = _place(value, bound)
                if place in _LANGUAGE:
                    bound[name] = place
    starred = any(
        isinstance(node, ast.ImportFrom) and node.module in _LANGUAGE and node.names[0].name == "*"
        for node in ast.walk(tree)
    )
    if starred:
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - _assigned(tree)
        language = import_module("tile_frontend")
        reached = (n for n in read - bound.keys() if stops(n) or n in vars(language))
        bound.update({n: f"tilelang.language.{n}" for n in reached})
    return bound


def _assigned(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def _place(node: ast.expr, bound: Mapping[str, str]) -> str:
    """The module and name that an expression reaches; empty if it reaches no module."""
    match node:
        case ast.Name(id=name):
            return bound.get(name, "")
        case ast.Attribute(value=value, attr=name):
            owner = _place(value, bound)
            return f"{owner}.{name}" if owner else ""
    return ""


def _name_in_language(node: ast.expr, bound: Mapping[str, str]) -> tuple[str, str] | None:
    """The name of the language that an expression is, and the module it is looked up in."""
    module, _, name = _place(node, bound).rpartition(".")
    if module in _LANGUAGE:
        return "tile_frontend", name
    within, _, part = module.rpartition(".")
    return ("tile_frontend.tile", name) if within in _LANGUAGE and part == "tile" else None


def _uses(tree: ast.Module, bound: Mapping[str, str]) -> Iterator[PortedName]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
            reached = _name_in_language(node, bound)
            if reached is not None and reached[1] != "tile":
                yield from _became(_position(node), *reached)
            module, _, name = _place(node, bound).rpartition(".")
            if module in _TRITON and name != "language":
                instead = triton_here(name, dir(import_module("tile_frontend")))
                shown = ast.unparse(node)
                yield PortedName(*_position(node), shown, "error", "a name of Triton", instead)
        if isinstance(node, ast.Call) and _name_in_language(node.func, bound) is not None:
            yield from _arguments(node)


def _position(node: ast.expr) -> tuple[int, int]:
    """Where the last name of an expression stands."""
    if isinstance(node, ast.Attribute) and node.end_lineno and node.end_col_offset is not None:
        return node.end_lineno, node.end_col_offset - len(node.attr) + 1
    return node.lineno, node.col_offset + 1


def _became(position: tuple[int, int], module: str, name: str) -> Iterator[PortedName]:
    prefix = "T.tile" if module.endswith(".tile") else "T"
    shown, language = f"{prefix}.{name}", import_module(module)
    group = _stops(name) if prefix == "T" and not _is_taken(language, name) else None
    if group is not None:
        yield PortedName(*position, shown, "error", group.says, group.write)
    elif prefix == "T" and name in NO_EFFECT | HINT_OBJECTS:
        yield PortedName(*position, shown, "no effect", "a hint for GPUs")
    elif prefix == "T" and name in next_chip_names.NO_EFFECT:
        yield PortedName(*position, shown, "no effect", "a hint for the scheduler of A5")
    elif prefix == "T" and name in LOWERED | next_chip_names.LOWERED:
        says = LOWERED.get(name) or next_chip_names.LOWERED[name]
        yield PortedName(*position, shown, "lowered", says)
    elif not hasattr(language, name) and not name.startswith("__"):
        instead = advice(module, name) or did_you_mean(name, dir(language)) or ""
        yield PortedName(*position, shown, "error", "it is not among the names here", instead)


def _stops(name: str) -> NameGroup | None:
    return stops(name) or next_chip_names.GROUP_OF.get(name)


_THAT_STOP = ("GpuName", "NextChipName")


def _is_taken(language: Any, name: str) -> bool:
    """Whether the language has the name, other than to say that it stops."""
    value = vars(language).get(name)
    return value is not None and type(value).__name__ not in _THAT_STOP


def _arguments(node: ast.Call) -> Iterator[PortedName]:
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        position = keyword.value.lineno, keyword.value.col_offset - len(keyword.arg)
        name = f"{ast.unparse(node.func)}({keyword.arg}=)"
        given = keyword.value.value if isinstance(keyword.value, ast.Constant) else True
        if keyword.arg in STOPPING_ARGUMENTS and given not in (None, False):
            group = STOPPING_ARGUMENTS[keyword.arg]
            yield PortedName(*position, name, "error", group.says, group.write)
        elif keyword.arg in ARGUMENTS_WITHOUT_EFFECT:
            yield PortedName(*position, name, "no effect", "a hint for GPUs")


def _types(tree: ast.Module) -> Iterator[PortedName]:
    """Small floats by a string or as a type of torch."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(name)) if SMALL_FLOAT.fullmatch(name):
                shown = repr(name)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name) if SMALL_FLOAT.fullmatch(
                name
            ):
                shown = f"torch.{name}"
            case _:
                continue
        position = node.lineno, node.col_offset + 1
        yield PortedName(*position, shown, "error", SMALL_FLOATS.says, SMALL_FLOATS.write)


def _imports(tree: ast.Module) -> Iterator[PortedName]:
    """Modules of the package that are not provided, and names that a module has not."""
    modules = import_table().modules
    aliases = import_table().aliases
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                asked = [(alias.name, "", alias) for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                asked = [(module, alias.name, alias) for alias in names]
            case _:
                continue
        for module, name, alias in asked:
            if module.partition(".")[0] not in _PACKAGES or module in aliases:
                continue
            position = getattr(alias, "lineno", node.lineno), getattr(alias, "col_offset", 0) + 1
            group = stops(name) if name else None
            if group is not None:
                yield PortedName(*position, name, "error", group.says, group.write)
            elif module not in modules:
                instead = _REWRITE if module in _TRITON else ""
                yield PortedName(*position, module, "error", "the module is not provided", instead)
            elif not _has(module, name):
                says = f"{module} has no such name here"
                instead = did_you_mean(name, modules[module]) or ""
                yield PortedName(*position, name, "error", says, instead)


def _has(module: str, name: str) -> bool:
    table = import_table()
    if name in ("", "*") or name in table.modules[module] or module in table.bases:
        return True
    part = f"{module}.{name}"
    return part in table.modules or part in table.aliases
