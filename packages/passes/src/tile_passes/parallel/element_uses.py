"""List the elements that the statements of a nest read and write, in order, with their context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tile_ir import (
    Body,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Load,
    Loc,
    Stmt,
    Store,
    Var,
    bodies,
    expressions,
    unary,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import Leaf, inlined, loads_in


@dataclass(frozen=True, slots=True)
class Use:
    """One access to an element, in its loops, outermost first, and under conditions. `number` is
    that of its store in the nest, or of the next one; `kept` says whether a tile of the compiler's
    can hold what is read."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    leaf: Leaf
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    loc: Loc
    number: int
    store: Store | None
    writes: bool
    kept: bool

    @property
    def is_target(self) -> bool:
        """Whether it is an access to the element that its store writes."""
        store = self.store
        return store is not None and (self.buffer, self.indices) == (store.buffer, store.indices)


def uses_of(leaves: Sequence[Leaf]) -> Iterator[Use]:
    """All accesses, those of a statement before those of the next one, and reads before writes."""
    number = 0
    for leaf in leaves:
        for stmt, loops, conditions in _inside(leaf.stmt, leaf.loops, leaf.guards):
            for load, writes, kept in _places(stmt):
                store = stmt if isinstance(stmt, Store) else None
                kept = kept and len(loops) == len(leaf.loops)
                yield Use(
                    load.buffer, load.indices, leaf, loops, conditions, stmt.loc,
                    number, store, writes, kept,
                )  # fmt: skip
            number += isinstance(stmt, Store)


def _places(stmt: Stmt) -> Iterator[tuple[Load, bool, bool]]:
    """The elements of one statement: whether it writes them, and whether a tile can hold them."""
    if isinstance(stmt, Store):
        yield from ((load, False, True) for load in loads_in(stmt.value))
        yield from ((load, False, False) for load in loads_in(*stmt.indices))
        yield Load(stmt.buffer, stmt.indices), True, False
    else:
        yield from ((load, False, True) for load in loads_in(*expressions(stmt)))


_Around = tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]


def _inside(stmt: Stmt, loops: tuple[For, ...], conditions: tuple[Expr, ...]) -> Iterator[_Around]:
    """The statements of a leaf in order, each with the loops and conditions around it."""
    yield stmt, loops, conditions
    if isinstance(stmt, If):
        yield from _in_block(stmt.then, loops, (*conditions, stmt.condition))
        yield from _in_block(stmt.orelse, loops, (*conditions, unary("not", stmt.condition)))
        return
    own = (*loops, stmt) if isinstance(stmt, For) else loops
    for body in bodies(stmt):
        yield from _in_block(body, own, conditions)


def _in_block(
    body: Body, loops: tuple[For, ...], conditions: tuple[Expr, ...]
) -> Iterator[_Around]:
    """Those of a block, with the values of the names that it defines: another one in each
    iteration."""
    names: dict[Var, Expr] = {}
    for original in body:
        stmt = inlined(original, names)
        if isinstance(stmt, Let):
            names[stmt.var] = stmt.value
        yield from _inside(stmt, loops, conditions)
