"""The loops around a store in the order in which its elements lie: what is written is a box then,
and what is read may be in any order."""

from __future__ import annotations

from functools import partial

from tile_ir import (
    INT32,
    INT64,
    Expr,
    Store,
    Var,
    map_expressions,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Leaf


def in_target_order(leaf: Leaf) -> Leaf:
    """The leaf with its loops exchanged as the target's indices follow them, and those backwards
    that the target walks so. Iterations of a store are independent: all elements are read before
    any is written. A leaf that is no box in any order is left as it is."""
    store, variables = leaf.stmt, leaf.vars
    if not isinstance(store, Store) or not variables:
        return leaf
    order: list[tuple[Var, int]] = []
    for index in store.indices:
        here = [v for v in variables if v in walk_expr(index)]
        if len(here) > 1:
            return leaf
        for var in here:
            order.append((var, step_of(index, var) if index.dtype in (INT32, INT64) else 0))
    used = [var for var, _ in order]
    if len(set(used)) != len(used) or set(used) != set(variables) or any(not s for _, s in order):
        return leaf
    if any(v in walk_expr(b) for loop in leaf.loops for b in (loop.start, loop.stop) for v in used):
        return leaf
    backwards = {var for var, step in order if step < 0}
    if used == [*variables] and not backwards:
        return leaf
    loops = {loop.var: loop for loop in leaf.loops}
    guards, values = leaf.guards, dict[Var, Expr]()
    for var in backwards:
        loop = loops[var]
        values[var] = simplify(loop.start + loop.stop - 1 - var)
    (turned,) = (
        map_expressions((store,), partial(substitute, values=values)) if values else (store,)
    )
    assert isinstance(turned, Store), "it is the same store"
    turned = replace(turned, indices=tuple(simplify(i) for i in turned.indices))
    return Leaf(tuple(loops[var] for var in used), guards, turned)
