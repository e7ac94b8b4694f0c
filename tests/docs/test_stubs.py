"""The type stubs of the language are those that the op table and the frontend give today."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest
import stubs

import tile_frontend as T

MODULES = {stubs.SOURCE / "__init__.pyi": T, stubs.SOURCE / "tile.pyi": T.tile}


@pytest.mark.parametrize("path", stubs.STUBS, ids=lambda p: p.name)
def test_stub_is_current(path: Path) -> None:
    assert stubs.STUBS[path]() == path.read_text(), "run `python docs/stubs.py`"


@pytest.mark.parametrize("path", stubs.STUBS, ids=lambda p: p.name)
def test_stub_has_the_parameters_of_the_functions(path: Path) -> None:
    """Also where a person wrote the stub."""
    wrong = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            real = inspect.signature(getattr(MODULES[path], node.name)).parameters
            a = node.args
            named = [x.arg for x in (*a.args, *a.kwonlyargs)]
            wrong += [f"{node.name}: {n}" for n in named if n not in real]
            if not node.decorator_list and [p for p in real if p not in _all(a)]:
                wrong.append(node.name)
    assert wrong == []


def _all(a: ast.arguments) -> list[str]:
    rest = [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)] + rest


@pytest.mark.parametrize("path", stubs.STUBS, ids=lambda p: p.name)
def test_stub_has_every_name(path: Path) -> None:
    module: ModuleType = MODULES[path]
    tree = ast.parse(path.read_text())
    found = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {n.asname or n.name for n in node.names}
        elif isinstance(node, ast.Assign):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    assert set(module.__all__) - found == set()
