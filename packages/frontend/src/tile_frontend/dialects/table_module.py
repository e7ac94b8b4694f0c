"""Modules made from a table: each name leads to a value elsewhere, looked up when first used.

Nothing is imported to make such a module, so a script that imports much and uses little waits for
little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tile_ir import did_you_mean


class TableModule(ModuleType):
    """A module whose names are those of `names`: `"package.module:name"`, or a module's name alone.

    `base` names a module that has all other names. `absent` ends the message about a name that is
    in neither.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        names: Mapping[str, str],
        *,
        base: str | None = None,
        absent: str = "",
    ) -> None:
        super().__init__(name, doc)
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        # A package without folders: importing an unknown part of it fails as it should.
        self.__path__: list[str] = []
        self._names = dict(names)
        self._base = base
        self._absent = absent

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

    def _no_such_name(self, name: str) -> str:
        text = f"module {self.__name__!r} has no attribute {name!r}"
        if name.startswith("__"):
            return text
        hint = did_you_mean(name, self._names)
        return f"{text}{self._absent}{f'; {hint}' if hint else ''}"


class CallableModule(TableModule):
    """A module that is called like the function it shares its name with."""

    def __init__(self, name: str, doc: str, names: Mapping[str, str], function: str) -> None:
        super().__init__(name, doc, names)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function: Callable[..., Any] = value_at(self._function)
        return function(*args, **kwargs)


def value_at(place: str) -> Any:
    """The value `"package.module:name"` names, or the module without a colon."""
    module, colon, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if colon else found
