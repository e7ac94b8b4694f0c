"""Find tensors that are updated in place, each element once at most: between the load of an element
and its store no other core stores to it."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import Buffer, For, Func, Memory, While, constant_value
from tile_ir.analysis import constant_trips
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.analysis.uses_in_text import ElementUse, used_in_parts, uses_in_text


def updated_once(func: Func) -> frozenset[Buffer]:
    """The tensors of whose elements each is stored once at most, and read only before that, while
    all blocks, vector cores and iterations of loops have elements of their own."""
    found = uses_in_text(func)
    others = used_in_parts(func)
    return frozenset(
        buffer
        for buffer, uses in found.items()
        if buffer.memory is Memory.GM and buffer not in others and _is_update(uses, func)
    )


def _is_update(uses: Sequence[ElementUse], func: Func) -> bool:
    """Whether the uses are those of one element, of which no load follows a store."""
    stores = [use for use in uses if use.stores]
    first, *_ = (*stores, uses[0])
    loops = first.around.loops
    if not stores or any(use.indices != first.indices for use in uses):
        return False
    if any(use.around.loops[: len(loops)] != loops for use in uses):
        return False
    for place, store in enumerate(uses):
        behind = (use for use in uses[place + 1 :] if store.stores and not _exclude(store, use))
        if any(True for _ in behind) or (store.stores and store.around.loops != loops):
            return False
    return all(_are_apart(store, loops, func) for store in stores)


def _exclude(a: ElementUse, b: ElementUse) -> bool:
    """Whether only one of two uses happens in an iteration: they stand in two sides of a branch."""
    sides = {id(stmt): number for stmt, number in a.around.sides}
    return any(sides.get(id(stmt), number) != number for stmt, number in b.around.sides)


def _are_apart(store: ElementUse, loops: Sequence[For | While], func: Func) -> bool:
    """Whether blocks, vector cores and iterations have elements of their own."""
    apart = set(store.around.lanes)
    if constant_value(func.launch.blocks) != 1:
        apart.add(func.launch.block)
    for loop in loops:
        if isinstance(loop, While):
            return False
        if constant_trips(loop) != 1:
            apart.add(loop.var)
    around = store.around
    return apart <= fixed_by(store.indices, around.known, facts=around.facts)
