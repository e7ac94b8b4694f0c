"""The elements that the statements of a nest read and write, in order, with what is around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tile_ir import Expr, For, If, Load, Loc, Stmt, Store, bodies, expressions, unary, walk_expr
from tile_passes.parallel.dependence import Touch
from tile_passes.parallel.iteration_order import Access
from tile_passes.parallel.nest import Leaf


@dataclass(frozen=True, slots=True)
class Use:
    """One access. `number` is that of its store in the nest, or of the next one; `kept` says
    whether a tile of the compiler's can hold what is read."""

    touch: Touch
    access: Access
    number: int
    store: Store | None
    writes: bool
    kept: bool

    @property
    def loc(self) -> Loc:
        return self.touch.loc

    @property
    def is_target(self) -> bool:
        """Whether it is an access to the element that its store writes."""
        store, touch = self.store, self.touch
        if store is None or touch.buffer is not store.buffer:
            return False
        return touch.indices == store.indices


def uses_of(leaves: Sequence[Leaf]) -> Iterator[Use]:
    """All accesses, those of a statement before those of the next one, and reads before writes."""
    number = 0
    for leaf in leaves:
        for stmt, loops, conditions in _inside(leaf.stmt, leaf.loops, leaf.guards):
            for load, writes, kept in _places(stmt):
                touch = Touch(load.buffer, load.indices, leaf, stmt.loc)
                access = Access(load.buffer, load.indices, loops, len(leaf.loops), conditions)
                store = stmt if isinstance(stmt, Store) else None
                kept = kept and len(loops) == len(leaf.loops)
                yield Use(touch, access, number, store, writes, kept)
            number += isinstance(stmt, Store)


def _places(stmt: Stmt) -> Iterator[tuple[Load, bool, bool]]:
    """The elements of one statement: whether it writes them, and whether a tile can hold them."""
    if isinstance(stmt, Store):
        yield from ((load, False, True) for load in _loads((stmt.value,)))
        yield from ((load, False, False) for load in _loads(stmt.indices))
        yield Load(stmt.buffer, stmt.indices), True, False
    else:
        yield from ((load, False, True) for load in _loads(expressions(stmt)))


def _inside(
    stmt: Stmt, loops: tuple[For, ...], conditions: tuple[Expr, ...]
) -> Iterator[tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]]:
    """The statements of a leaf in order, each with the loops and conditions around it."""
    yield stmt, loops, conditions
    if isinstance(stmt, If):
        for body, condition in (
            (stmt.then, stmt.condition),
            (stmt.orelse, unary("not", stmt.condition)),
        ):
            for inner in body:
                yield from _inside(inner, loops, (*conditions, condition))
    else:
        for body in bodies(stmt):
            for inner in body:
                own = (*loops, stmt) if isinstance(stmt, For) else loops
                yield from _inside(inner, own, conditions)


def _loads(exprs: Iterable[Expr]) -> Iterator[Load]:
    return (part for e in exprs for part in walk_expr(e) if isinstance(part, Load))
