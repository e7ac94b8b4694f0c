"""Make the modules importable that scripts of a dialect import, with our compiler behind them.

Nothing else is imported before a name is used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from tile_frontend._dialects.dialect import Dialect, ImportTable
from tile_frontend._dialects.table_module import TableModule, value_at
from tile_frontend._dialects.tilelang_ascend import TILELANG_ASCEND

_DOC = "Part of tilelang, as scripts import it; see tile_frontend._dialects."
_ABSENT = ", or it is not among what this compiler takes over from tilelang"


def import_table(dialect: Dialect = TILELANG_ASCEND) -> ImportTable:
    """What scripts of a dialect import."""
    table = value_at(dialect.imports)
    assert isinstance(table, ImportTable), f"{dialect.imports} is the table of {dialect.name}"
    return table


def modules(table: ImportTable) -> dict[str, ModuleType]:
    """A new module for every line of the table. A part of a module (`tilelang.cache` of
    `tilelang`) is its attribute."""
    made: dict[str, ModuleType] = {}
    for name, names in table.modules.items():
        parts = {
            part[len(name) + 1 :]: table.aliases.get(part, part)
            for part in (*table.modules, *table.aliases)
            if part.startswith(f"{name}.") and "." not in part[len(name) + 1 :]
        }
        made[name] = TableModule(
            name, _DOC, {**parts, **names}, base=table.bases.get(name),
            function=table.functions.get(name), absent=_ABSENT,
        )  # fmt: skip
    return made


def install(dialect: Dialect = TILELANG_ASCEND) -> None:
    """Make the modules importable in this process, in place of any that are installed."""
    table = import_table(dialect)
    sys.modules.update(modules(table))
    sys.modules.update({name: value_at(place) for name, place in table.aliases.items()})


@contextmanager
def installed(dialect: Dialect = TILELANG_ASCEND) -> Iterator[None]:
    """`install` for the duration of a block."""
    table = import_table(dialect)
    before = {name: sys.modules.get(name) for name in (*table.modules, *table.aliases)}
    install(dialect)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
