"""Two loops whose variables are the digits of one index of the target, as one loop over that index.
Then the elements that are written are a run; an index of places finds those that are read."""

from __future__ import annotations

from functools import partial

from tile_ir import (
    INT32,
    Const,
    Expr,
    For,
    Stmt,
    Store,
    Var,
    constant_value,
    is_constant,
    linear_form,
    map_expressions,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Ranges, constant_trips, loop_range
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.parallel.nest import Leaf, Unsuitable
from tile_passes.parallel.nest_form import MOST_DIMENSIONS
from tile_passes.parallel.parts_of_rows import Steps
from tile_passes.parallel.serial_forms import in_serial_loops
from tile_passes.parallel.target_order import in_target_order
from tile_passes.parallel.temporaries import Temporaries


def over_places(
    leaf: Leaf, known: Ranges, temporaries: Temporaries, whole_or_rows: Steps
) -> list[Stmt] | None:
    """A store where two variables are the digits of one index, as operations over the places that
    the index has; None where it is no such store, or has no such operations."""
    joined = with_joined_loops(leaf, temporaries.builder)
    if joined is None:
        return None
    leaf = in_target_order(joined)
    outer, inner = leaf.loops[:-MOST_DIMENSIONS], leaf.loops[-MOST_DIMENSIONS:]
    for loop in outer:
        known = {**known, loop.var: loop_range(loop, known)}
    assert isinstance(leaf.stmt, Store), "other statements have no target"
    made = len(temporaries.allocs)
    try:
        steps = whole_or_rows(leaf.stmt, Leaf(inner, (), leaf.stmt), known)
    except Unsuitable:
        temporaries.give_back_all()
        temporaries.forget_since(made)
        return None
    return in_serial_loops(outer, steps)


def with_joined_loops(leaf: Leaf, builder: Builder) -> Leaf | None:
    """The leaf with `y[..., 2 * i + j]` for two values of `j` as `y[..., place]`; None where no
    index is such a sum."""
    found: Leaf | None = None
    while (pair := _digits_of_index(leaf)) is not None:
        leaf = found = _joined(leaf, *pair, builder)
    return found


def _digits_of_index(leaf: Leaf) -> tuple[For, For] | None:
    """The loops over the higher and the lower digit of an index of the target."""
    if not isinstance(leaf.stmt, Store):
        return None
    loops = {loop.var: loop for loop in leaf.loops}
    for index in leaf.stmt.indices:
        terms, _ = linear_form(index)
        here = {v: f for v, f in terms.items() if isinstance(v, Var) and v in loops}
        if len(here) < 2 or any(_mentions(e, loops) for e in terms if not isinstance(e, Var)):
            continue
        (low, step), (high, next_step) = sorted(here.items(), key=lambda each: abs(each[1]))[:2]
        count = constant_trips(loops[low])
        if count and next_step == step * count and _are_plain(leaf, loops[high], loops[low]):
            return loops[high], loops[low]
    return None


def _are_plain(leaf: Leaf, high: For, low: For) -> bool:
    """Whether both loops have constant bounds, and no other loop has theirs."""
    bounds = [b for loop in leaf.loops for b in (loop.start, loop.stop)]
    both = {high.var: high, low.var: low}
    fixed = constant_trips(high) is not None and constant_value(high.start) is not None
    return (
        fixed
        and is_constant(low.start, 0)
        and high.var.dtype is low.var.dtype is INT32
        and not any(_mentions(b, both) for b in bounds)
    )


def _mentions(e: Expr, loops: dict[Var, For]) -> bool:
    return any(part in loops for part in walk_expr(e))


def _joined(leaf: Leaf, high: For, low: For, builder: Builder) -> Leaf:
    count = Const(constant_trips(low) or 1)
    place = builder.scalar("place")
    values: dict[Var, Expr] = {high.var: place // count, low.var: place % count}
    (store,) = map_expressions((leaf.stmt,), partial(substitute, values=values))
    assert isinstance(store, Store), "it is the same store"
    start = simplify(high.start * count)
    # The sum of the digits is the number.
    indices = tuple(
        simplify(substitute(old, {high.var: Const(0), low.var: place}))
        if {high.var, low.var} <= {*walk_expr(old)}
        else simplify(new)
        for old, new in zip(_target(leaf), store.indices, strict=True)
    )
    loop = replace(high, var=place, start=start, stop=simplify(high.stop * count))
    loops = tuple(loop if each is high else each for each in leaf.loops if each is not low)
    return Leaf(loops, leaf.guards, replace(store, indices=indices))


def _target(leaf: Leaf) -> tuple[Expr, ...]:
    assert isinstance(leaf.stmt, Store), "it has been asked for"
    return leaf.stmt.indices
