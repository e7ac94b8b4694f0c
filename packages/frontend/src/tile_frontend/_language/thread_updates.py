"""Find updates of elements that threads share: an update stores what it computes from elements of
the same buffer, which another thread may write between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from tile_ir import (
    Const,
    Expr,
    ExprError,
    For,
    If,
    Let,
    Load,
    Memory,
    Stmt,
    Store,
    Var,
    bodies,
    constant_value,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass
from tile_ir.traversal import replace_in

# What stands for values that are not known: small and equal, small and different, large.
_TRIALS = ((1,) * 16, (2, 3, 5, 7, 11, 13, 17, 19), tuple(range(1009, 1100, 2)))
# Loops of a thread are tried with their first iterations.
_ITERATIONS, _DEEPEST = 2, 3

Place = tuple[int | None, ...]


def racing_update(
    body: Sequence[Stmt], is_shared: Callable[[Store], bool], thread: Var, count: int
) -> Store | None:
    """The first update of an element that another thread may write; `is_shared` selects stores.
    Unknown values are tried with a few numbers, and an index from memory is the same for all."""
    for update in _updates(body, {}, (), ()):
        if is_shared(update.store) and not update.is_apart(thread, count):
            return update.store
    return None


@dataclass(frozen=True, slots=True)
class _Update:
    """The store of an update, the indices that it writes and reads, the variables of the loops
    around it and the conditions on the way to it."""

    store: Store
    places: tuple[tuple[Expr, ...], ...]
    counters: tuple[Var, ...]
    conditions: tuple[Expr, ...]

    def is_apart(self, thread: Var, count: int) -> bool:
        every = [*self.conditions, *(i for place in self.places for i in place)]
        used = {v: None for e in every for v in walk_expr(e) if isinstance(v, Var)}
        others = [v for v in used if v not in self.counters and v != thread]
        tried = 0
        for trial in _TRIALS:
            values = dict(zip(others, map(Const, trial), strict=False))
            found = self._places_of_threads(values, thread, count)
            if found is None:
                continue
            owners: dict[Place, int] = {}
            if any(owners.setdefault(writes, number) != number for number, (writes, *_) in found):
                return False
            if any(owners.get(at, number) != number for number, (_, *read) in found for at in read):
                return False
            tried += 1
        return tried > 0

    def _places_of_threads(
        self, values: dict[Var, Const], thread: Var, count: int
    ) -> list[tuple[int, list[Place]]] | None:
        """The elements of each thread; None where they are no numbers."""
        kept = [
            position
            for position in range(len(self.places[0]))
            if not any(_reads(place[position]) for place in self.places)
        ]
        used = [v for v in self.counters if any(v in walk_expr(i) for p in self.places for i in p)]
        found: list[tuple[int, list[Place]]] = []
        for number in range(count):
            for iterations in product(range(_ITERATIONS), repeat=min(len(used), _DEEPEST)):
                zero = {v: Const(0) for v in self.counters}
                here = values | zero | dict(zip(used, map(Const, iterations), strict=False))
                here[thread] = Const(number)
                if any(_known(c, here) == 0 for c in self.conditions):
                    continue
                places = [tuple(_known(p[k], here) for k in kept) for p in self.places]
                if any(None in place for place in places):
                    return None
                found.append((number, places))
        return found


def _updates(
    body: Sequence[Stmt], names: dict[Var, Expr], counters: tuple[Var, ...],
    conditions: tuple[Expr, ...],
) -> Iterator[_Update]:  # fmt: skip
    names = dict(names)
    for stmt in body:
        match stmt:
            case Let(var=var, value=value):
                names[var] = substitute(value, names)
            case Store(buffer=buffer, indices=indices, value=value):
                parts = walk_expr(substitute(value, names))
                read = [e.indices for e in parts if isinstance(e, Load) and e.buffer is buffer]
                if read:
                    written = tuple(substitute(i, names) for i in indices)
                    places = tuple(tuple(map(_with_variables, p)) for p in (written, *read))
                    yield _Update(stmt, places, counters, tuple(map(_with_variables, conditions)))
            case If(condition=condition, then=then, orelse=orelse):
                test = substitute(condition, names)
                yield from _updates(then, names, counters, (*conditions, test))
                yield from _updates(orelse, names, counters, conditions)
            case For(var=var, body=inner):
                yield from _updates(inner, names, (*counters, var), conditions)
            case _:
                for part in bodies(stmt):
                    yield from _updates(part, names, counters, conditions)


def _with_variables(e: Expr) -> Expr:
    """An expression with a variable in place of each value that a variable of the text has."""

    def variable(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.buffer.memory is Memory.VAR:
            return Var(f"{part.buffer.name}.", part.dtype)
        return None

    return replace_in(e, variable)


def _known(e: Expr, values: dict[Var, Const]) -> int | None:
    try:
        return constant_value(simplify(substitute(e, values)))
    except ExprError:  # a shift by more than there are bits
        return None


def _reads(e: Expr) -> bool:
    return any(isinstance(part, Load) for part in walk_expr(e))
