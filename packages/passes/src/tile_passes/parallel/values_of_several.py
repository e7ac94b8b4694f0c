"""Keep values that several stores of a nest need, so that they are computed once: `a = x[i, 2 * j]`
is an element of two results of a rotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from tile_ir import BOOL, LOGICAL, Binary, Expr, Load, Memory, Select, Store, children, walk_expr
from tile_ir.quick_dataclasses import replace
from tile_ir.traversal import replace_in
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Keep, Leaf, Unsuitable, loads_in


def shares_values(stores: Sequence[Store], leaf: Leaf) -> bool:
    """Whether several stores over the same elements need a value."""
    return bool(_shared(stores, leaf))


def with_values_kept(parts: Sequence[Leaf], keep: Keep) -> list[Leaf]:
    """The leaves with the values that neighbours over the same elements need in tiles that have
    room. Operands of choices stay, as they may be no elements elsewhere."""
    found: list[Leaf] = []
    for _, run in groupby(parts, key=lambda leaf: (leaf.loops, leaf.guards)):
        found += _kept([*run], keep)
    return found


def _kept(run: list[Leaf], keep: Keep) -> list[Leaf]:
    stores = [leaf.stmt for leaf in run if isinstance(leaf.stmt, Store)]
    if len(stores) < len(run):
        return run
    first: list[Leaf] = []
    tiles: dict[Expr, Expr] = {}
    for part in _shared(stores, run[0]):
        try:
            store, tiles[part] = keep(part, run[0].loops, stores[0].loc)
        except Unsuitable:
            continue
        first.append(replace(run[0], stmt=store))
    read = [replace(s, value=replace_in(s.value, tiles.get)) for s in stores]
    return [*first, *(replace(leaf, stmt=s) for leaf, s in zip(run, read, strict=True))]


def _shared(stores: Sequence[Store], leaf: Leaf) -> list[Expr]:
    """The values that several stores need, and that none of them changes."""
    written = {store.buffer for store in stores}
    needed = Counter(part for store in stores for part in {*walk_expr(store.value)})
    common = {e for e, count in needed.items() if count > 1}
    found = (part for store in stores for part in _largest(store.value, common))
    return [
        part
        for part in dict.fromkeys(found)
        if _takes_work(part, leaf) and not any(x.buffer in written for x in loads_in(part))
    ]


def _largest(e: Expr, common: set[Expr]) -> Iterator[Expr]:
    """The parts of an expression that others have too, without the parts of these."""
    if e in common and not isinstance(e, Select) and e.dtype is not BOOL:
        yield e
    elif not isinstance(e, (Load, Select)) and not (isinstance(e, Binary) and e.op in LOGICAL):
        for child in children(e):
            yield from _largest(child, common)


def _takes_work(e: Expr, leaf: Leaf) -> bool:
    """Whether an expression follows every loop, and is more than the elements of a tile as they
    lie."""
    parts = {*walk_expr(e)}
    if not parts.issuperset(leaf.vars) or not any(isinstance(p, Load) for p in parts):
        return False
    if not isinstance(e, Load):
        return True
    return e.buffer.memory is Memory.GM or step_of(e.indices[-1], leaf.vars[-1]) != 1
