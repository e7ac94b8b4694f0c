"""Find tensors that are updated in place, each element once at most: between the load of an element
and its store no other core stores to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from tile_ir import (
    Body,
    Buffer,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    buffers_of,
    constant_value,
    expressions,
    reads_memory,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.analysis import (
    Facts,
    Ranges,
    constant_trips,
    facts_in,
    launch_ranges,
    loop_range,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.analysis.lane_dependence import is_of_one_lane


def updated_once(func: Func) -> frozenset[Buffer]:
    """The tensors of whose elements each is stored once at most, and read only before that, while
    all blocks, vector cores and rounds of loops have elements of their own."""
    found: dict[Buffer, list[_Use]] = {}
    around = _Around((), (), launch_ranges(func), (), _lanes(func))
    for use in _ElementUses(func).uses(func.launch.body, around):
        found.setdefault(use.buffer, []).append(use)
    others = {b for s in walk(func.launch.body) if isinstance(s, Op) for b in buffers_of(s)}
    others |= {b for a in func.launch.allocs if a.alias_of for b in (a.buffer, a.alias_of)}
    return frozenset(
        buffer
        for buffer, uses in found.items()
        if buffer.memory is Memory.GM and buffer not in others and _is_update(uses, func)
    )


def _lanes(func: Func) -> frozenset[Var]:
    """The number of the vector core, where both of a block may work."""
    return frozenset() if func.launch.threads == 1 else frozenset({func.launch.lane})


@dataclass(frozen=True, slots=True)
class _Around:
    """The loops around a statement, the sides of branches on the way to it, and what is known
    inside; `lanes` as `_lanes` has it."""

    sides: tuple[tuple[If, int], ...]
    loops: tuple[For | While, ...]
    known: Ranges
    facts: Facts
    lanes: frozenset[Var]


@dataclass(frozen=True, slots=True)
class _Use:
    """A load or a store of an element."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    stores: bool
    around: _Around


@dataclass(frozen=True, slots=True)
class _ElementUses:
    """Find the uses of elements, with the values of names that read no memory."""

    func: Func
    values: dict[Var, Expr] = field(default_factory=dict)

    def uses(self, body: Body, around: _Around) -> Iterator[_Use]:
        for stmt in body:
            for e in expressions(stmt):
                for load in walk_expr(substitute(e, self.values)):
                    if isinstance(load, Load):
                        yield _Use(load.buffer, load.indices, False, around)
            match stmt:
                case Let(var=var, value=value) if not reads_memory(value):
                    self.values[var] = substitute(value, self.values)
                case Store(buffer=buffer, indices=indices):
                    places = tuple(substitute(i, self.values) for i in indices)
                    yield _Use(buffer, places, True, around)
            for number, inner in enumerate(bodies(stmt)):
                yield from self.uses(inner, self.inside(stmt, number, around))

    def inside(self, stmt: Stmt, number: int, around: _Around) -> _Around:
        match stmt:
            case For(var=var):
                return replace(
                    around,
                    loops=(*around.loops, stmt),
                    known={**around.known, var: loop_range(stmt, around.known)},
                    facts=(*around.facts, *facts_in(stmt, self.values)),
                )
            case While():
                return replace(around, loops=(*around.loops, stmt))
            case If():
                one = is_of_one_lane(stmt, number, self.func.launch.lane)
                lanes = frozenset() if one else around.lanes
                return replace(around, sides=(*around.sides, (stmt, number)), lanes=lanes)
        return around


def _is_update(uses: Sequence[_Use], func: Func) -> bool:
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


def _exclude(a: _Use, b: _Use) -> bool:
    """Whether only one of two uses happens in a round: they stand in two sides of a branch."""
    sides = {id(stmt): number for stmt, number in a.around.sides}
    return any(sides.get(id(stmt), number) != number for stmt, number in b.around.sides)


def _are_apart(store: _Use, loops: Sequence[For | While], func: Func) -> bool:
    """Whether blocks, vector cores and rounds have elements of their own."""
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
