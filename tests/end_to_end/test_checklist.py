"""Every line of the checklist has tests, and they exist."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from .checklist import LINES

ROOT = Path(__file__).parents[2]


@cache
def functions_in(file: str) -> frozenset[str]:
    """The functions of a file that pytest collects, those of its classes among them."""
    tree = ast.parse((ROOT / file).read_text())
    scopes = [tree.body, *(c.body for c in tree.body if isinstance(c, ast.ClassDef))]
    functions = (f.name for scope in scopes for f in scope if isinstance(f, ast.FunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def test_no_number_is_missing() -> None:
    assert list(LINES) == list(range(1, 42))


@pytest.mark.whole
@pytest.mark.parametrize("number", LINES)
def test_what_shows_a_line_exists(number: int) -> None:
    line = LINES[number]
    assert line.says and line.shown
    assert len(set(line.shown)) == len(line.shown)
    for place in line.shown:
        file, _, name = place.partition("::")
        assert name in functions_in(file), place
