"""Which functions of libraries a candidate has replaced.

A replaced function changes no verdict, since other processes compile, run and compare. It is told.
"""

from __future__ import annotations

import sys
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
    for module_name, module in tuple(sys.modules.items()):
        top = module_name.partition(".")[0]
        ours = top.startswith(_OURS)
        if not isinstance(module, ModuleType) or not (ours or top in _LIBRARIES):
            continue
        names = vars(module)
        for name, value in tuple(names.items()):
            if not callable(value):
                continue
            found[module_name, name] = value
            is_watched = ours or name in _CLASSES.get(module_name, ())
            if is_watched and isinstance(value, type) and value.__module__ == module_name:
                for member, function in tuple(vars(value).items()):
                    if callable(function):
                        found[module_name, f"{name}.{member}"] = function
    return found


def replaced_functions(before: Functions) -> list[str]:
    """The names of functions that are others now."""
    now = library_functions()
    return sorted(
        f"{module}.{name}"
        for (module, name), value in before.items()
        if (module, name) in now and now[module, name] is not value
    )
