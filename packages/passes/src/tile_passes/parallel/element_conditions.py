"""Branches that differ from element to element, as stores that choose between two values."""

from __future__ import annotations

from tile_ir import If, Memory, Store
from tile_ir.expr import Expr, Load, select
from tile_ir.expr import walk as walk_expr
from tile_ir.nodes import Body


def as_choices(stmt: If) -> tuple[Store, ...]:
    """The stores of a branch, each with the value the element keeps or gets otherwise; none if
    there is no such form.

    An element that only one side writes keeps its value, which is then read: this is so for
    elements of ub that the condition or the value reads as well, so that they surely have one.
    """
    then, orelse = _stores(stmt.then), _stores(stmt.orelse)
    if not then or orelse is None or (orelse and len(orelse) != len(then)):
        return ()
    if len(then) > 1 and _reads(stmt.condition, then):
        return ()  # the first store may change what the condition says
    choices: list[Store] = []
    for number, store in enumerate(then):
        place = Load(store.buffer, store.indices)
        if orelse:
            other = orelse[number]
            if (other.buffer, other.indices) != (store.buffer, store.indices):
                return ()
            otherwise: Expr = other.value
        elif store.buffer.memory is Memory.UB and _names(place, stmt.condition, store.value):
            otherwise = place
        else:
            return ()
        value = select(stmt.condition, store.value, otherwise)
        choices.append(Store(store.buffer, store.indices, value, store.loc))
    return tuple(choices)


def _stores(body: Body) -> tuple[Store, ...] | None:
    """The statements if all are stores."""
    stores = tuple(s for s in body if isinstance(s, Store))
    return stores if len(stores) == len(body) else None


def _reads(e: Expr, stores: tuple[Store, ...]) -> bool:
    written = {s.buffer for s in stores}
    return any(isinstance(p, Load) and p.buffer in written for p in walk_expr(e))


def _names(place: Load, *expressions: Expr) -> bool:
    return any(part == place for e in expressions for part in walk_expr(e))
