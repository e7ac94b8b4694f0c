"""Find the functions of libraries that a candidate has replaced.

A replaced function changes no result, since other processes compile, run and compare. The judge
reports it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

# The libraries that judge a kernel, or that a reference is written with.
_LIBRARIES = ("torch", "numpy", "builtins", "math", "random")
_OURS = "tile_"
# Of these, methods are looked at too.
_CLASSES = {"torch": ("Tensor", "Generator"), "numpy": ("ndarray",)}
Functions = dict[tuple[str, str], Any]


def library_functions() -> Functions:
    """The functions and classes of all libraries that are loaded, by module and name."""
    found: Functions = {}
    for module_name, module in _libraries():
        for name, value in tuple(vars(module).items()):
            if callable(value):
                found[module_name, name] = value
                if isinstance(value, type):
                    members = _members(module_name, name, value)
                    found |= {(module_name, f"{name}.{m}"): f for m, f in members.items()}
    return found


@lru_cache(maxsize=1)
def first_functions() -> Functions:
    """Those that were there when this was called first: before any fork."""
    return library_functions()


def replaced_functions(before: Functions, file: str) -> list[str]:
    """The names of functions that are others now, and of those that come from a file."""
    now = library_functions()
    loaded = {name for name, _ in _libraries()}
    replaced = {
        f"{module}.{name}"
        for (module, name), value in before.items()
        if module in loaded and now.get((module, name)) is not value
    }
    planted = {
        f"{module}.{name}"
        for (module, name), value in now.items()
        if getattr(getattr(value, "__code__", None), "co_filename", None) == file
    }
    return sorted(replaced | planted)


def _libraries() -> Iterator[tuple[str, ModuleType]]:
    for name, module in tuple(sys.modules.items()):
        top = name.partition(".")[0]
        if isinstance(module, ModuleType) and (top.startswith(_OURS) or top in _LIBRARIES):
            yield name, module


def _members(module: str, name: str, of: type) -> dict[str, Any]:
    """The methods to compare of a class: of ours its own, of others inherited ones too."""
    if of.__module__ == module and module.startswith(_OURS):
        classes: tuple[type, ...] = (of,)
    elif name in _CLASSES.get(module, ()):
        classes = of.__mro__[::-1]
    else:
        return {}
    return {m: f for each in classes for m, f in tuple(vars(each).items()) if callable(f)}
