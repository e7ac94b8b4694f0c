"""Join stores of one nest that take turns along a dimension, such as the even and the odd elements
of a row. Their values wait in tiles until one store writes all of them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tile_ir import (
    INT32,
    INT64,
    Binary,
    Buffer,
    Const,
    DType,
    Expr,
    For,
    Load,
    Loc,
    Stmt,
    Store,
    Var,
    constant_value,
    difference,
    simplify,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Leaf, Unsuitable, loads_in

# A tile of a type with room for so many values of every element, until the end of the nest.
Room = Callable[[DType, tuple[int, ...], Loc], Buffer]
# Of more stores each writes too little of a row.
MOST_TURNS = 8


@dataclass(frozen=True, slots=True)
class _TakenTurns:
    """Where stores take turns: in one dimension, whose index is `step` times a variable and so much
    as each store has of its own."""

    dimension: int
    var: Var
    step: int


def joined_stores(parts: Sequence[Leaf], room: Room) -> list[Leaf]:
    """The leaves with each group of stores that take turns as stores to tiles and one from them.
    A group that has no room stays as it is."""
    result: list[Leaf] = []
    at = 0
    while at < len(parts):
        turns = _turns_of(parts[at])
        group = parts[at : at + turns.step] if turns is not None else ()
        if turns is not None and _is_group(group, turns):
            try:
                result += _joined(group, turns, room)
                at += len(group)
                continue
            except Unsuitable:
                pass
        result.append(parts[at])
        at += 1
    return result


def take_turns(parts: Sequence[Leaf]) -> bool:
    """Whether the first of several stores begins a group that is joined."""
    turns = _turns_of(parts[0])
    return turns is not None and _is_group(parts[: turns.step], turns)


def stores_by_turns(stmt: Stmt) -> bool:
    """Whether a statement stores elements of several lines by turns, as joined stores do."""
    if not isinstance(stmt, Store) or not isinstance(stmt.value, Load):
        return False
    digits = [i for i in stmt.value.indices if isinstance(i, Binary)]
    found = {(i.op, i.left, i.right) for i in digits}
    return any(op == "%" and ("//", left, right) in found for op, left, right in found)


def _turns_of(leaf: Leaf) -> _TakenTurns | None:
    if not isinstance(leaf.stmt, Store):
        return None
    found = [
        _TakenTurns(dimension, loop.var, step_of(index, loop.var))
        for dimension, index in enumerate(leaf.stmt.indices)
        for loop in leaf.loops
        if index.dtype in (INT32, INT64) and step_of(index, loop.var) > 1
    ]
    if len(found) != 1 or not found[0].step <= MOST_TURNS:
        return None
    (turns,) = found
    if turns.dimension < len(leaf.stmt.indices) - 1:
        return None
    uses = [i for i in leaf.stmt.indices if turns.var in walk_expr(i)]
    return turns if len(uses) == 1 and not _others(leaf, turns, uses[0]) else None


def _others(leaf: Leaf, turns: _TakenTurns, index: Expr) -> bool:
    return any(v is not turns.var and v in walk_expr(index) for v in leaf.vars)


def _is_group(group: Sequence[Leaf], turns: _TakenTurns) -> bool:
    """Whether the stores write all of a box, each its own elements, and none reads what an earlier
    one has written."""
    first = group[0].stmt
    assert isinstance(first, Store), "it takes turns"
    if len(group) != turns.step or any(constant_trips(loop) is None for loop in group[0].loops):
        return False
    places = set()
    for number, leaf in enumerate(group):
        store = leaf.stmt
        if not isinstance(store, Store) or store.buffer is not first.buffer:
            return False
        if leaf.loops != group[0].loops or leaf.guards != group[0].guards:
            return False
        if number and any(x.buffer is first.buffer for x in loads_in(store.value, *store.indices)):
            return False
        apart = [difference(i, j) for i, j in zip(store.indices, first.indices, strict=True)]
        if any(constant_value(d) != 0 for n, d in enumerate(apart) if n != turns.dimension):
            return False
        places.add(constant_value(apart[turns.dimension]))
    numbers = {p for p in places if p is not None}
    return len(numbers) == turns.step and max(numbers) - min(numbers) == turns.step - 1


@dataclass(frozen=True, slots=True)
class AsOne:
    """Stores that take turns, in the order of their turns, and the loops over all elements with the
    indices of these. The variable `wide` stands for `var` of the stores: the turn of an element and
    its place along their loop follow from it."""

    stores: tuple[Store, ...]
    var: Var
    wide: Var
    loops: tuple[For, ...]
    indices: tuple[Expr, ...]
    turn: Expr
    place: Expr


def as_one(parts: Sequence[Leaf]) -> AsOne | None:
    """All stores as a group that is joined; None where they are not one."""
    turns = _turns_of(parts[0])
    if turns is None or len(parts) != turns.step or not _is_group(parts, turns):
        return None
    return _as_one(parts, turns)


def _as_one(group: Sequence[Leaf], turns: _TakenTurns) -> AsOne:
    stores = [leaf.stmt for leaf in group if isinstance(leaf.stmt, Store)]
    first, loops = stores[0], group[0].loops
    own = {
        s: constant_value(difference(s.indices[turns.dimension], first.indices[turns.dimension]))
        or 0
        for s in stores
    }
    wide = Var(turns.var.name, turns.var.dtype)
    along = next(loop for loop in loops if loop.var is turns.var)
    whole = replace(
        along,
        var=wide,
        start=simplify(along.start * turns.step),
        stop=simplify(along.stop * turns.step),
    )
    rest = simplify(first.indices[turns.dimension] - turns.var * turns.step + min(own.values()))
    indices = tuple(
        simplify(wide + rest) if n == turns.dimension else i for n, i in enumerate(first.indices)
    )
    return AsOne(
        tuple(sorted(stores, key=own.__getitem__)),
        turns.var,
        wide,
        tuple(whole if loop is along else loop for loop in loops),
        indices,
        wide % turns.step,
        wide // turns.step,
    )


def _joined(group: Sequence[Leaf], turns: _TakenTurns, room: Room) -> Iterator[Leaf]:
    one, (loops, guards) = _as_one(group, turns), (group[0].loops, group[0].guards)
    first = group[0].stmt
    assert isinstance(first, Store), "it takes turns"
    sizes = tuple(constant_trips(loop) or 0 for loop in loops)
    tile = room(first.buffer.dtype, (turns.step, *sizes), first.loc)
    places = tuple(simplify(loop.var - loop.start) for loop in loops)
    leaves = []
    for leaf in group:
        store = leaf.stmt
        assert isinstance(store, Store), "it takes turns"
        turn = Const(one.stores.index(store))
        leaves.append(Leaf(loops, guards, Store(tile, (turn, *places), store.value, store.loc)))
    read = tuple(
        simplify(one.place - loop.start) if loop.var is turns.var else place
        for loop, place in zip(loops, places, strict=True)
    )
    value = Load(tile, (one.turn, *read))
    last = leaves[-1].stmt.loc
    leaves.append(Leaf(one.loops, guards, Store(first.buffer, one.indices, value, last)))
    return iter(leaves)
