"""Which names a kernel or macro sees: blocks of local names over what was captured by value when
the decorator ran (language.md, section 4.1)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType, FrameType
from typing import Any

from tile_ir import Loc

MISSING = object()


@dataclass(frozen=True, slots=True)
class Captured:
    """Names from around a function. `local` is a copy of its enclosing scopes and `globals` of its
    module's; the live ones are asked only for what did not exist yet."""

    local: Mapping[str, Any]
    globals: Mapping[str, Any]
    cells: Mapping[str, CellType]
    live_globals: Mapping[str, Any]

    def find(self, name: str) -> Any:
        if name in self.local:
            return self.local[name]
        cell = self.cells.get(name)
        if cell is not None and (value := _contents(cell)) is not MISSING:
            return value
        for names in (self.globals, self.live_globals):
            if name in names:
                return names[name]
        return getattr(builtins, name, MISSING)

    def names(self) -> set[str]:
        return {*self.local, *self.live_globals, *dir(builtins)}


def capture(fn: Callable[..., Any], frame: FrameType | None) -> Captured:
    """The names around `fn`. The frame of the enclosing function adds names that only annotations
    use, which Python does not keep in the closure."""
    # Only the function around it, not one that happens to apply the decorator for it.
    around_it = fn.__qualname__.split(".<locals>.")[:-1]
    if frame is not None and (
        not around_it
        or around_it[-1].rpartition(".")[2] != frame.f_code.co_name
        or frame.f_code.co_filename != fn.__code__.co_filename
    ):
        frame = None
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    around: dict[str, Any] = {}
    if frame is not None:
        around.update(frame.f_locals)
    for name, cell in cells.items():
        value = _contents(cell)
        if value is not MISSING:
            around[name] = value
    return Captured(around, dict(fn.__globals__), cells, fn.__globals__)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not assigned it yet
        return MISSING


class Scope:
    """Local names, innermost block last. Leaving a block forgets the names bound in it; where they
    stood is kept for the error message."""

    def __init__(self, captured: Captured, caller: Scope | None = None) -> None:
        self._blocks: list[dict[str, Any]] = [{}]
        self._captured = captured
        # A macro that is not hygienic sees the names of the place it is called from.
        self._caller = caller
        self._bound_at: dict[str, Loc] = {}

    def bind(self, name: str, value: Any, loc: Loc) -> None:
        self._blocks[-1][name] = value
        self._bound_at[name] = loc

    def find_local(self, name: str) -> Any:
        """A name bound by the function itself, or MISSING."""
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        return MISSING

    def is_captured(self, name: str) -> bool:
        """Whether a name means something from outside the kernel."""
        if self.find_local(name) is not MISSING:
            return False
        return self._caller is None or self._caller.is_captured(name)

    def find(self, name: str) -> Any:
        value = self.find_local(name)
        if value is MISSING and self._caller is not None:
            value = self._caller.find(name)
        return self._captured.find(name) if value is MISSING else value

    def dropped_at(self, name: str) -> Loc | None:
        """Where a name that is gone was bound."""
        return self._bound_at.get(name)

    def names(self) -> set[str]:
        known = {name for block in self._blocks for name in block} | self._captured.names()
        return known | self._caller.names() if self._caller else known

    @contextmanager
    def block(self) -> Iterator[None]:
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()
