"""Modules made from a table: each name leads to a value elsewhere, looked up when first used.

Nothing is imported to make such a module, so a script that imports much and uses little waits for
little.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tile_ir import did_you_mean


class TableModule(ModuleType):
    """A module whose names are those of `names`: `"package.module:name"`, or a module's name alone.

    `base` names a module that has all other names, `function` the place of what the module is when
    it is called. `absent` ends the message about a name that is not there.
    """

    def __init__(
        self, name: str, doc: str, names: Mapping[str, str], *, base: str | None = None,
        function: str | None = None, absent: str = "",
    ) -> None:  # fmt: skip
        super().__init__(name, doc)
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        # A package without folders: importing an unknown part of it fails as it should.
        self.__path__: list[str] = []
        self._names, self._base, self._absent = dict(names), base, absent
        self._function = function

    def __getattr__(self, name: str) -> Any:
        place = self._names.get(name)
        if place is not None:
            value = value_at(place)
        elif self._base is not None and (not name.startswith("__") or name == "__all__"):
            base = import_module(self._base)
            value = dir(base) if name == "__all__" else getattr(base, name)
        elif name == "__all__":
            value = sorted(self._names)
        else:
            raise AttributeError(self._no_such_name(name))
        # Kept, so that the next look-up does not come here.
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        base = dir(import_module(self._base)) if self._base is not None else []
        return sorted({*base, *self._names})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise TypeError(f"the module {self.__name__} is not called")
        return value_at(self._function)(*args, **kwargs)

    def _no_such_name(self, name: str) -> str:
        text = f"module {self.__name__!r} has no attribute {name!r}"
        if name.startswith("__"):
            return text
        hint = did_you_mean(name, self._names)
        return f"{text}{self._absent}{f'; {hint}' if hint else ''}"


def value_at(place: str) -> Any:
    """The value `"package.module:name"` names, or the module without a colon."""
    module, colon, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if colon else found
