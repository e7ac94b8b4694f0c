"""Keep equal values as one object, as long as a reference to it exists.

Such values are compared, hashed and found in tables by identity, whatever their contents. Data that
is kept with one serves all equal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from threading import RLock
from typing import Any, TypeVar
from weakref import ref

T = TypeVar("T")
# Two threads may ask for the same value.
_TABLES = RLock()
# Values of one class that a table holds before it forgets dead ones for the first time.
FEW = 4096


class Shared:
    """Base of values that are interned."""

    __slots__ = ("__weakref__",)


def interned(*spelled: str) -> Callable[[type[T]], type[T]]:
    """Decorate frozen dataclasses with slots that are compared by identity. Values of `spelled`
    fields count as equal if their texts are, integers aside: 0.0 and -0.0 are equal in Python, but
    their meaning differs."""

    def decorate(cls: type[T]) -> type[T]:
        names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        table: dict[tuple[Any, ...], ref[Any]] = {}
        scope: dict[str, Any] = {"table": table, "kept": _keeper(table), "new": object.__new__}
        scope |= {f"set_{name}": getattr(cls, name).__set__ for name in names}
        sets = "".join(f"  set_{n}(found, {n})\n" for n in names)
        keys = [f"{n} if type({n}) is int else repr({n})" if n in spelled else n for n in names]
        exec(
            f"def __new__(cls, {', '.join(names)}):\n"
            f" key = {', '.join(keys)},\n"
            " known = table.get(key)\n"
            " found = None if known is None else known()\n"
            " if found is None:\n"
            "  found = new(cls)\n"
            f"{sets}"
            "  found = kept(found, key)\n"
            " return found",
            scope,
        )
        new, init = scope["__new__"], cls.__init__
        for told in ("__defaults__", "__annotations__", "__module__"):
            setattr(new, told, getattr(init, told))
        new.__qualname__ = f"{cls.__qualname__}.__new__"
        cls.__new__ = new  # type: ignore[method-assign]
        del cls.__init__  # `__new__` sets all fields
        cls.__reduce__ = _again  # type: ignore[method-assign]
        return cls

    return decorate


def _keeper(
    table: dict[tuple[Any, ...], ref[Any]],
) -> Callable[[T, tuple[Any, ...]], T]:
    """A function that keeps an object as the one of its key; if another thread just kept another,
    it returns that. Each time the table has doubled it forgets the values that are dead: a callback
    for each of them would take more time than all else here."""
    most = FEW

    def kept(found: T, key: tuple[Any, ...]) -> T:
        nonlocal most
        with _TABLES:
            known = table.get(key)
            other: T | None = None if known is None else known()
            if other is not None:
                return other
            table[key] = ref(found)
            if len(table) > most:
                for dead in [key for key, one in table.items() if one() is None]:
                    del table[dead]
                most = max(FEW, 2 * len(table))
            return found

    return kept


def _again(self: Any) -> tuple[Any, ...]:
    """How it is copied and unpickled."""
    return type(self), tuple([getattr(self, f.name) for f in fields(self)])
