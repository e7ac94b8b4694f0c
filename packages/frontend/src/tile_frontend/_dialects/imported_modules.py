"""Make the modules importable that scripts of a dialect import, with our compiler behind them.

Each name leads to a value elsewhere, looked up when first used: a script that imports much and uses
little waits for little.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tile_frontend._dialects.dialect import Dialect, ImportTable
from tile_frontend._dialects.tilelang_ascend import TILELANG_ASCEND
from tile_ir import did_you_mean


class TableModule(ModuleType):
    """A module of a table of imports: its names and its parts lead to values elsewhere."""

    def __init__(self, name: str, table: ImportTable) -> None:
        super().__init__(
            name, "Part of tilelang, as scripts import it; see tile_frontend._dialects."
        )
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__file__ = __file__  # scripts print where they have it from
        # A package without folders: importing an unknown part of it fails as it should.
        self.__path__: list[str] = []
        # A part of a module (`tilelang.cache` of `tilelang`) is its attribute.
        parts = {
            part.rpartition(".")[2]: table.aliases.get(part, part)
            for part in (*table.modules, *table.aliases)
            if part.rpartition(".")[0] == name
        }
        self._names: dict[str, str] = {**parts, **table.modules[name]}
        self._base, self._function = table.bases.get(name), table.functions.get(name)

    def __getattr__(self, name: str) -> Any:
        place = self._names.get(name)
        if place is not None:
            value = value_at(place)
        elif self._base is not None and (not name.startswith("__") or name == "__all__"):
            base = import_module(self._base)
            value = dir(base) if name == "__all__" else getattr(base, name)
            if name not in vars(base):  # it may mean something in some kernels alone
                return value
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
        absent = ", or it is not among what this compiler takes over from tilelang"
        return f"{text}{absent}{f'; {hint}' if hint else ''}"


def value_at(place: str) -> Any:
    """The value `"package.module:name"` names, or the module without a colon."""
    module, colon, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if colon else found


def import_table(dialect: Dialect = TILELANG_ASCEND) -> ImportTable:
    """The table of a dialect's imports."""
    table = value_at(dialect.imports)
    assert isinstance(table, ImportTable), f"{dialect.imports} is the table of {dialect.name}"
    return table


def install(dialect: Dialect = TILELANG_ASCEND) -> None:
    """Make the modules importable in this process, in place of any that are installed."""
    table = import_table(dialect)
    sys.modules.update({name: TableModule(name, table) for name in table.modules})
    sys.modules.update({name: value_at(place) for name, place in table.aliases.items()})


@contextmanager
def installed(dialect: Dialect = TILELANG_ASCEND) -> Iterator[None]:
    """`install` for the duration of a block."""
    table = import_table(dialect)
    names = (*table.modules, *table.aliases)
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    install(dialect)
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)
