"""What a function refuses, read from the function itself: the rules an operation has to keep, in
their own words, and the slugs of the errors that code can reach."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from slugs import uses

from pages.markdown import ASIDE, ROOT
from tile_ir import OpDef

OURS = ("tile_frontend.", "tile_ir.ops.", "tile_ir.opdef")
_NO_RULE = OpDef.__dataclass_fields__["dtype_rule"].default


def rules(opdef: OpDef) -> list[Callable[..., Any]]:
    """The rules of a record one by one, without those that demand nothing."""
    return [r for rule in (opdef.dtype_rule, opdef.shape_rule) for r in _parts(rule)]


def _parts(rule: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    parts = inspect.getclosurevars(rule).nonlocals.get("rules")
    if parts is None:
        if rule is not _NO_RULE:
            yield rule
        return
    for part in parts:
        yield from _parts(part)


def rule_text(rule: Callable[..., Any]) -> str:
    """A rule in its own words."""
    return ASIDE.sub("", inspect.cleandoc(rule.__doc__ or "").replace("\n", " "))


@cache
def known_slugs(root: Path = ROOT) -> frozenset[str]:
    return frozenset(use.slug for use in uses(root) if use.slug)


def slugs_raised_in(package: str) -> list[str]:
    """Slugs that modules of a package make."""
    return sorted({u.slug for u in uses(ROOT) if u.module.startswith(package) and u.slug})


def slugs_of(functions: list[Callable[..., Any]], known: frozenset[str]) -> list[str]:
    """Slugs in the code of the functions and of those of ours that they call by name."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [f for f in functions if isinstance(f, FunctionType)]
    while waiting:
        function = waiting.pop(0)
        if id(function) in seen or not function.__module__.startswith(OURS):
            continue
        seen.add(id(function))
        for part in _codes(function.__code__):
            found.update((c, None) for c in part.co_consts if c in known and isinstance(c, str))
            called = [function.__globals__.get(n) for n in part.co_names]
            waiting += [f for f in called if isinstance(f, FunctionType)]
        held = [c.cell_contents for c in function.__closure__ or ()]
        waiting += [f for f in held if isinstance(f, FunctionType)]
    return sorted(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)
