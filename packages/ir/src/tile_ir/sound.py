"""What the verifier need not look at again. It has no rules itself: those are in `verifier`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tile_ir.expr import Buffer
from tile_ir.machine import Core
from tile_ir.nodes import Stmt
from tile_ir.walk import buffers_of, variables_of


@dataclass(frozen=True, slots=True)
class Scope:
    """What a statement sees: defined scalars, the enclosing section, whether a loop is open, and
    whether it stands in a parallel loop, where elements may still become tile operations."""

    scalars: frozenset[str]
    core: Core | None = None
    in_loop: bool = False
    parallel: bool = False


class Sound:
    """Statements without a problem: in what they saw, a phase, buffers, scalars and loops; and in
    themselves, by the scalars and buffers that they name."""

    def __init__(self) -> None:
        self._around: tuple[object, ...] = ()
        # Keeping the statements keeps their identities from being used again.
        self._found: dict[tuple[int, Scope], Stmt] = {}
        self._named: dict[tuple[int, bool], tuple[Stmt, frozenset[str], frozenset[Buffer]]] = {}

    def among(self, *around: object) -> None:
        """What statements see from here on."""
        if around != self._around:
            self._around, self._found = around, {}

    def has(self, stmt: Stmt, scope: Scope) -> bool:
        return (id(stmt), scope) in self._found

    def has_itself(self, stmt: Stmt, scope: Scope, buffers: Set[Buffer]) -> bool:
        """Whether its own expressions and regions need no second look: all they name is there."""
        known = self._named.get((id(stmt), scope.parallel))
        return known is not None and known[1] <= scope.scalars and known[2] <= buffers

    def add(self, stmt: Stmt, scope: Scope) -> None:
        self._found[id(stmt), scope] = stmt
        key = id(stmt), scope.parallel
        if key not in self._named:
            names = frozenset(var.name for var in variables_of(stmt))
            self._named[key] = stmt, names, buffers_of(stmt)


__all__ = ["Scope", "Sound"]
