"""Take a statement apart into classes of iterations in which the places of its elements are plain:
by the residue of a loop variable, or between the values at which its quotients change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, zip_longest

from tile_ir import (
    Body,
    Const,
    Expr,
    If,
    Select,
    Stmt,
    Store,
    map_expressions,
    rebuild,
    select,
    written_buffers,
)
from tile_ir.analysis import Ranges, narrow
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.joined_stores import joined_stores, stores_by_turns
from tile_passes.parallel.least_work import Way, least_work
from tile_passes.parallel.nest import Leaf, NoRoom, Unsuitable, loads_of
from tile_passes.parallel.parts_of_rows import Steps, parts_of_rows
from tile_passes.parallel.pieces_of_loops import pieces_of_loops
from tile_passes.parallel.residue_classes import residue_classes
from tile_passes.parallel.temporaries import Temporaries


def whole_or_by_classes(
    leaf: Leaf, known: Ranges, whole: Way, steps_of: Steps, temporaries: Temporaries
) -> list[Stmt]:
    """The steps of a statement for all iterations, or for one class of them after another where
    that is less work. Raises Unsuitable."""
    if classes_of(leaf) is None:
        return whole()
    return least_work((whole, partial(by_classes, leaf, known, steps_of, temporaries)), temporaries)


def by_classes(leaf: Leaf, known: Ranges, steps_of: Steps, temporaries: Temporaries) -> list[Stmt]:
    """A statement for one class of iterations after another; some rows at a time, where tiles have
    no room for all. Raises Unsuitable."""
    made = len(temporaries.allocs)
    steps: list[Stmt] = []
    try:
        for part in joined_stores(_stores_of_classes(leaf, known), temporaries.room):
            assert isinstance(part.stmt, Store), "a statement was taken apart into stores"
            steps += steps_of(part.stmt, part, known)
            temporaries.give_back_all()
    except NoRoom:
        temporaries.forget_since(made)

        def again(store: Store, leaf: Leaf, known: Ranges) -> list[Stmt]:
            return by_classes(replace(leaf, stmt=store), known, steps_of, temporaries)

        parts = parts_of_rows(leaf, known, again, temporaries)
        if parts is None:
            raise
        return parts[1]
    except Unsuitable:
        temporaries.forget_since(made)
        raise
    return steps


def classes_of(leaf: Leaf) -> list[Leaf] | None:
    """One statement for each class of iterations; None where there is one class only, and for what
    joins the stores of classes."""
    if stores_by_turns(leaf.stmt):
        return None
    return residue_classes(leaf) or pieces_of_loops(leaf)


def _stores_of_classes(leaf: Leaf, known: Ranges) -> list[Leaf]:
    """The stores of a statement, each for one class of iterations. Raises Unsuitable."""
    parts = classes_of(leaf)
    if parts is None:
        raise Unsuitable("its indices divide no loop variable")
    if isinstance(leaf.stmt, If):
        written = written_buffers((leaf.stmt,))
        if any(load.buffer in written for load in loads_of(leaf.stmt)):
            raise Unsuitable("a branch reads what it writes")
    # A statement runs for all iterations before the next one.
    turns = zip_longest(*(_stores(part, known) for part in parts))
    return [part for part in chain.from_iterable(turns) if part is not None]


def _stores(leaf: Leaf, known: Ranges) -> list[Leaf]:
    """The stores of one class, with the choices made that are the same for all of it. Raises
    Unsuitable for what is more."""
    inside = leaf.ranges(known)
    (stmt,) = map_expressions((leaf.stmt,), partial(_chosen, known=inside))
    return [replace(leaf, stmt=store) for store in _taken((stmt,))]


def _taken(body: Body) -> Iterator[Store]:
    for stmt in body:
        match stmt:
            case Store():
                yield stmt
            case If(condition=Const(value=value), then=then, orelse=orelse):
                yield from _taken(then if value else orelse)
            case _:
                raise Unsuitable("the condition differs from element to element")


def _chosen(e: Expr, known: Ranges) -> Expr:
    """An expression with the choices made that its ranges decide."""

    def choose(part: Expr) -> Expr:
        inner = rebuild(part, choose)
        match inner:
            case Select(condition=condition, then=then, orelse=orelse):
                return select(condition, then, orelse)
        return inner

    return choose(narrow(e, known))
