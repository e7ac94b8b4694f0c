"""Finds every slug an error can carry, by reading the sources; nothing is imported or run.

A slug is a constant string handed to an error class, to a record with a field `slug`, or to a
function with a parameter `slug`; in the simulator, to `raise`, `tell`, `fault_of` or `fault_at`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Classes with a slug as first argument, and the error the user gets from them.
ERROR_OF = {
    "KernelError": "KernelError",
    "Fault": "KernelError",
    "CallError": "CallError",
    "IRError": "IRError",
    "Diagnostic": "IRError",
    "Problem": "KernelError, IRError",
    "BuildError": "BuildError",
    "InterpretError": "InterpretError",
}
PYTHON = "packages/*/src/**/*.py"
SIMULATOR_RAISE = re.compile(
    r'(?:\b(?:raise|fault_at|fault_of)\(\s*|\btell\([^",;]+,\s*|\bkind = )"([a-z]+(?:-[a-z]+)*)"'
)


@dataclass(frozen=True, order=True)
class Use:
    """One place that makes an error."""

    slug: str
    error: str
    module: str
    message: str


@cache
def uses(root: Path) -> tuple[Use, ...]:
    """Every use of a slug in the packages. Only files with a word of interest are parsed."""
    found: list[Use] = []
    texts = {path: path.read_text() for path in sorted(root.glob(PYTHON))}
    trees: dict[Path, ast.Module] = {}
    # A function with a slug serves the modules of its package.
    functions: dict[str, dict[str, tuple[str, int]]] = {}
    for path, text in texts.items():
        own = functions.setdefault(package_of(path), {})
        if re.search(r"\bslug\b", text):
            trees[path] = ast.parse(text)
            own.update(_functions_with_slug(trees[path]))
    for path, text in texts.items():
        own = functions[package_of(path)]
        if re.search(rf"\b({'|'.join([*ERROR_OF, *own])})\b", text):
            tree = trees.get(path) or ast.parse(text)
            found += _python_uses(module_name(path), tree, own)
    for path in sorted(root.glob("packages/runtime/src/tile_runtime/simulator/src/*.cpp")):
        for slug in SIMULATOR_RAISE.findall(path.read_text()):
            found.append(Use(slug, "SimulationError", f"simulator/src/{path.name}", ""))
    return tuple(found)


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    names = parts[parts.index("src") + 1 :]
    return ".".join(n for n in names if n != "__init__")


def package_of(path: Path) -> str:
    return module_name(path).partition(".")[0]


def _python_uses(
    module: str, tree: ast.Module, functions: dict[str, tuple[str, int]]
) -> Iterator[Use]:
    named = _named_texts(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _name(node.func)
        if name in ERROR_OF:
            error, position = ERROR_OF[name], 0
        elif name in functions:
            error, position = functions[name]
        else:
            continue
        arguments = {k.arg: k.value for k in node.keywords}
        for slug in _constants(_argument(node, position, arguments, "slug")):
            given = _argument(node, position + 1, arguments, "message")
            yield Use(slug, error, module, _text(_before(given, named)))


def _named_texts(tree: ast.Module) -> dict[tuple[str, int], ast.expr]:
    """What names are set to, with the line where that ends."""
    found: dict[tuple[str, int], ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id, node.lineno] = node.value
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name, line = node.target.id, node.lineno
            earlier = found.get((name, line - 1))
            if earlier is not None:
                found[name, line] = ast.BinOp(earlier, ast.Add(), node.value)
    return found


def _before(node: ast.expr | None, named: dict[tuple[str, int], ast.expr]) -> ast.expr | None:
    """A message, or what the name in its place was set to last."""
    if not isinstance(node, ast.Name):
        return node
    lines = [line for name, line in named if name == node.id and line < node.lineno]
    return named[node.id, max(lines)] if lines else node


def _functions_with_slug(tree: ast.Module) -> Iterator[tuple[str, tuple[str, int]]]:
    """Functions that take a slug and hand it on: which error they make, where the slug stands."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name == "__init__":
            continue
        names = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
        if "slug" not in names:
            continue
        called = [_name(c.func) for c in ast.walk(node) if isinstance(c, ast.Call)]
        error = next((ERROR_OF[c] for c in called if c in ERROR_OF), "KernelError")
        yield node.name, (error, names.index("slug"))


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _argument(
    call: ast.Call, position: int, keywords: dict[str | None, ast.expr], name: str
) -> ast.expr | None:
    if name in keywords:
        return keywords[name]
    return call.args[position] if position < len(call.args) else None


def _constants(node: ast.expr | None) -> list[str]:
    """The strings an argument can be: a constant, or a choice between two."""
    if isinstance(node, ast.IfExp):
        return _constants(node.body) + _constants(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _text(node: ast.expr | None) -> str:
    """A message as far as the source says it, with … for what is filled in."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(_text(v) if isinstance(v, ast.Constant) else "…" for v in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
    return "…"
