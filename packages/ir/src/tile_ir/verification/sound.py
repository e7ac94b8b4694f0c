"""What the verifier need not look at again. It has no rules itself: those are in `verifier`."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from tile_ir.expr import Buffer
from tile_ir.machine import Core
from tile_ir.nodes import Let, Op, Phase, Stmt, Store
from tile_ir.target import Target
from tile_ir.traversal import buffers_of, names_of
from tile_ir.verification.phases import PHASES

# A statement without others inside, which a break is not: it asks for a loop around it.
Leaf = Op | Let | Store


class Scope(NamedTuple):
    """What a statement sees: defined scalars, the enclosing section, whether a loop is open, and
    whether it stands in a parallel loop, where elements may still become tile operations."""

    scalars: frozenset[str]
    core: Core | None = None
    in_loop: bool = False
    parallel: bool = False


class Sound:
    """Statements without a problem. Those with others inside: in what they saw, a phase, buffers,
    scalars and loops. Leaves: wherever the scalars and buffers that they name are there; and
    operations, besides, on one kind of core."""

    def __init__(self) -> None:
        self._around: tuple[object, ...] = ()
        self._asked: tuple[object, ...] = ()
        self._found: set[tuple[Stmt, Scope]] = set()
        self._leaves: set[tuple[Leaf, bool]] = set()
        self._placed: set[tuple[Op, Core | None]] = set()

    def among(self, target: Target, phase: Phase, buffers: tuple[Buffer, ...]) -> None:
        """What statements see from here on."""
        around = target, phase, buffers
        if around != self._around:
            self._around, self._found = around, set()
        # What a phase asks of operations: their form, too, from where composites are gone.
        rule = PHASES[phase]
        asked = target, rule.composites, rule.unsectioned
        if asked != self._asked:
            self._asked, self._placed = asked, set()

    def has(self, stmt: Stmt, scope: Scope) -> bool:
        return (stmt, scope) in self._found

    def add(self, stmt: Stmt, scope: Scope) -> None:
        self._found.add((stmt, scope))

    def has_leaf(self, leaf: Leaf, scope: Scope, buffers: Set[Buffer]) -> bool:
        return (
            (leaf, scope.parallel) in self._leaves
            and names_of(leaf) <= scope.scalars
            and buffers_of(leaf) <= buffers
        )

    def add_leaf(self, leaf: Leaf, scope: Scope) -> None:
        self._leaves.add((leaf, scope.parallel))

    def has_placed(self, op: Op, scope: Scope) -> bool:
        return (op, scope.core) in self._placed

    def add_placed(self, op: Op, scope: Scope) -> None:
        self._placed.add((op, scope.core))


__all__ = ["Scope", "Sound"]
