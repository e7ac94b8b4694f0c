"""Branches that differ from element to element, as stores that choose between two values.

A statement after another one sees what the first has stored, so each side becomes its stores in
order, each under the conditions that lead to it. Where a store may change what a later condition
says, the condition is kept in a tile first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import field

from tile_ir import (
    Binary,
    Body,
    Buffer,
    Expr,
    If,
    Let,
    Load,
    Memory,
    Store,
    Var,
    cast,
    conjunction,
    select,
    substitute,
    unary,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import Unsuitable, loads_in

# A value of every element in a tile of the compiler's: the store to it, and how it is read.
Keep = Callable[[Expr], tuple[Store, Expr]]
Written = Callable[[Load], bool]


def as_choices(
    stmt: If,
    keep: Keep,
    written: Written,
    unset: Set[Buffer] = frozenset(),
    own: Set[Buffer] = frozenset(),
) -> tuple[Store, ...]:
    """The stores of a branch in order, each with the value the element keeps or gets otherwise.

    Tiles that are `unset` are read where the branch has stored to them, so that the first value may
    be that of all elements. Tensors that are `own` have elements of one core alone, which may load
    them and store them again. `keep` makes a tile for a value; `written` says whether an element
    surely has a value before the branch. Raises Unsuitable where a side is more than stores, and
    where elements would be read that the branch leaves alone and that may have no value yet.
    """
    choices: list[Store] = []
    for choice in _Conversion(keep, own).branch(stmt):
        first = choice.store.buffer in unset
        choices.append(choice.store if first else _store(choice, own))
        unset = unset - {choice.store.buffer}
    sure = set(loads_in(_first_asked(stmt.condition)))
    kept = {s.buffer for s in choices} - written_buffers((stmt,))
    for store in choices:
        for load in loads_in(store.value):
            if load in sure or load.buffer in kept or load.buffer.memory is not Memory.UB:
                continue
            if not written(load):
                raise Unsuitable(
                    f"elements of `{load.buffer.name}` that the condition leaves alone may have "
                    "no value yet; fill it before"
                )
        sure.add(Load(store.buffer, store.indices))
    return tuple(choices)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A store under conditions, the outermost first; one to a tile of the compiler's has none."""

    conditions: tuple[Expr, ...]
    store: Store
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class _Conversion:
    keep: Keep
    own: Set[Buffer]
    names: dict[Var, Expr] = field(default_factory=dict)

    def body(self, body: Body) -> list[_Choice]:
        found: list[_Choice] = []
        inside = _Conversion(self.keep, self.own, dict(self.names))
        changed = written_buffers(body)
        for stmt in body:
            match stmt:
                case Let(var=var, value=value):
                    value = substitute(value, inside.names)
                    if changed & _buffers(value):
                        store, value = self.keep(value)
                        found.append(_Choice((), store, True))
                    inside.names[var] = value
                case Store():
                    found.append(_Choice((), inside.named(stmt)))
                case If():
                    found.extend(inside.branch(stmt))
                case _:
                    raise Unsuitable("the condition differs from element to element, and more "
                                     "than stores to elements depend on it")  # fmt: skip
        return found

    def named(self, store: Store) -> Store:
        indices = tuple(substitute(i, self.names) for i in store.indices)
        return Store(store.buffer, indices, substitute(store.value, self.names), store.loc)

    def branch(self, stmt: If) -> list[_Choice]:
        condition = substitute(stmt.condition, self.names)
        then, orelse = self.body(stmt.then), self.body(stmt.orelse)
        merged = _same_places(then, orelse)
        count = len(then) if merged else len(then) + len(orelse)
        before: list[_Choice] = []
        if count > 1 and _buffers(condition) & {c.store.buffer for c in (*then, *orelse)}:
            store, condition = self.keep(condition)
            before.append(_Choice((), store, True))
        if merged:
            return before + [
                _Choice((), _either(condition, a, b, self.own))
                for a, b in zip(then, orelse, strict=True)
            ]
        otherwise = unary("not", condition)
        return [
            *before,
            *(_under(condition, c) for c in then),
            *(_under(otherwise, c) for c in orelse),
        ]


def _same_places(then: Sequence[_Choice], orelse: Sequence[_Choice]) -> bool:
    """Whether both sides write the same elements one after another."""
    places = [[(c.store.buffer, c.store.indices) for c in side] for side in (then, orelse)]
    return places[0] == places[1]


def _either(condition: Expr, then: _Choice, orelse: _Choice, own: Set[Buffer]) -> Store:
    a, b = _store(then, own), _store(orelse, own)
    return Store(a.buffer, a.indices, select(condition, a.value, b.value), a.loc)


def _under(condition: Expr, choice: _Choice) -> _Choice:
    return choice if choice.keeps else _Choice((condition, *choice.conditions), choice.store)


def _store(choice: _Choice, own: Set[Buffer]) -> Store:
    """The store for every element: what no condition lets through keeps its value."""
    store = choice.store
    if not choice.conditions:
        return store
    if store.buffer.memory is not Memory.UB and store.buffer not in own:
        raise Unsuitable(
            f"the condition leaves elements of `{store.buffer.name}` in "
            f"{store.buffer.memory.value} as they are; choose with T.if_then_else"
        )
    condition = conjunction(choice.conditions)
    kept = Load(store.buffer, store.indices)
    value = select(condition, cast(store.value, store.buffer.dtype), kept)
    return Store(store.buffer, store.indices, value, store.loc)


def _first_asked(condition: Expr) -> Expr:
    """The part of a condition that is surely evaluated."""
    while isinstance(condition, Binary) and condition.op in ("and", "or"):
        condition = condition.left
    return condition


def _buffers(e: Expr) -> set[Buffer]:
    return {load.buffer for load in loads_in(e)}
