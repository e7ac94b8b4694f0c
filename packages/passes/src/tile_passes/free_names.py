"""Names for what passes add to a function, besides those that it has. Renames nothing itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from tile_ir import For, Func, Let, walk


class FreeNames:
    """Gives names that nothing has yet, each once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._given = taken

    @cached_property
    def _taken(self) -> set[str]:
        """Most functions need no new name, and are not gone through for theirs."""
        return set(self._given)

    @staticmethod
    def of(func: Func) -> FreeNames:
        """Names besides those of parameters, buffers, dimensions, launch indices and scalars."""
        launch = func.launch
        named = (*func.params, *func.tensors, *func.symbols, launch.block, launch.lane)
        scalars = (s.var for s in walk(launch.body) if isinstance(s, (For, Let)))
        buffers = (a.buffer for a in launch.allocs)
        return FreeNames(each.name for each in (*named, *scalars, *buffers))

    def fresh(self, name: str) -> str:
        """The name, or where it is taken the one with the smallest number behind it that is not."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found
