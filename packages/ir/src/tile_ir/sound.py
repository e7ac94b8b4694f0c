"""What the verifier need not look at again. It has no rules itself: those are in `verifier`."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from tile_ir.expr import Buffer
from tile_ir.machine import Core
from tile_ir.nodes import Stmt
from tile_ir.walk import buffers_of, names_of


class Scope(NamedTuple):
    """What a statement sees: defined scalars, the enclosing section, whether a loop is open, and
    whether it stands in a parallel loop, where elements may still become tile operations."""

    scalars: frozenset[str]
    core: Core | None = None
    in_loop: bool = False
    parallel: bool = False


class Sound:
    """Statements without a problem: in what they saw, a phase, buffers, scalars and loops; and in
    themselves, wherever the scalars and buffers that they name are there."""

    def __init__(self) -> None:
        self._around: tuple[object, ...] = ()
        # Keeping the statements keeps their identities from being used again.
        self._found: dict[tuple[int, Scope], Stmt] = {}
        self._themselves: dict[tuple[int, bool], Stmt] = {}

    def among(self, *around: object) -> None:
        """What statements see from here on."""
        if around != self._around:
            self._around, self._found = around, {}

    def has(self, stmt: Stmt, scope: Scope) -> bool:
        return (id(stmt), scope) in self._found

    def has_itself(self, stmt: Stmt, scope: Scope, buffers: Set[Buffer]) -> bool:
        """Whether what it says itself needs no second look: all it names is there."""
        return (
            (id(stmt), scope.parallel) in self._themselves
            and names_of(stmt) <= scope.scalars
            and buffers_of(stmt) <= buffers
        )

    def add(self, stmt: Stmt, scope: Scope) -> None:
        self._found[id(stmt), scope] = stmt
        self._themselves[id(stmt), scope.parallel] = stmt


__all__ = ["Scope", "Sound"]
