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
from tile_passes.parallel.groups_of_stores import Groups
from tile_passes.parallel.joined_stores import stores_by_turns
from tile_passes.parallel.least_work import Way, least_work
from tile_passes.parallel.nest import Leaf, Unsuitable, loads_of
from tile_passes.parallel.pieces_of_loops import pieces_of_loops
from tile_passes.parallel.residue_classes import residue_classes


def whole_or_by_classes(leaf: Leaf, known: Ranges, whole: Way, groups: Groups) -> list[Stmt]:
    """The steps of a statement for all iterations, or for one class of them after another where
    that is less work. Raises Unsuitable."""
    if classes_of(leaf) is None:
        return whole()

    def by_classes() -> list[Stmt]:
        return groups.steps(_stores_of_classes(leaf, known), known)

    return least_work((whole, by_classes), groups.temporaries)


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
