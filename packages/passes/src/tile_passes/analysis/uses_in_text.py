"""List the loads and stores of elements in a kernel with the loops and branches around them."""

from __future__ import annotations

from collections.abc import Iterator
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
    Stmt,
    Store,
    Var,
    While,
    accesses,
    bodies,
    expressions,
    reads_memory,
    substitute,
    walk_expr,
    walk_ops,
)
from tile_ir.analysis import Facts, Ranges, facts_in, launch_ranges, loop_range
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.lane_dependence import is_of_one_lane


def uses_in_text(func: Func) -> dict[Buffer, list[ElementUse]]:
    """The loads and stores of each buffer, in the order of the text. Names that read no memory have
    their values in the indices."""
    found: dict[Buffer, list[ElementUse]] = {}
    around = UseContext((), (), launch_ranges(func), (), _lanes(func))
    for use in _UseFinder(func).uses(func.launch.body, around):
        found.setdefault(use.buffer, []).append(use)
    return found


def used_in_parts(func: Func) -> set[Buffer]:
    """The buffers of which operations use parts, and those with a second name: the list has not all
    their uses."""
    found = {r.buffer for op in walk_ops(func.launch.body) for r, _ in accesses(op)}
    return found.union(*((a.buffer, a.alias_of) for a in func.launch.allocs if a.alias_of))


def _lanes(func: Func) -> frozenset[Var]:
    """The number of the vector core, where both of a block may work."""
    return frozenset() if func.launch.threads == 1 else frozenset({func.launch.lane})


@dataclass(frozen=True, slots=True)
class UseContext:
    """The loops around a statement, the sides of branches on the way to it, and what is known
    inside; `lanes` as `_lanes` has it."""

    sides: tuple[tuple[If, int], ...]
    loops: tuple[For | While, ...]
    known: Ranges
    facts: Facts
    lanes: frozenset[Var]


@dataclass(frozen=True, slots=True)
class ElementUse:
    """A load or a store of an element."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    stores: bool
    around: UseContext


def enter_name(stmt: Let | For, values: dict[Var, Expr]) -> None:
    """Note the value of a name, if it reads no memory. Two bodies may have one name."""
    if isinstance(stmt, Let) and not reads_memory(stmt.value):
        values[stmt.var] = substitute(stmt.value, values)
    else:
        values.pop(stmt.var, None)


@dataclass(frozen=True, slots=True)
class _UseFinder:
    """Finds the uses of elements, with the values of names that read no memory."""

    func: Func
    values: dict[Var, Expr] = field(default_factory=dict)

    def uses(self, body: Body, around: UseContext) -> Iterator[ElementUse]:
        for stmt in body:
            for e in expressions(stmt):
                for load in walk_expr(substitute(e, self.values)):
                    if isinstance(load, Load):
                        yield ElementUse(load.buffer, load.indices, False, around)
            match stmt:
                case Let() | For():
                    enter_name(stmt, self.values)
                case Store(buffer=buffer, indices=indices):
                    places = tuple(substitute(i, self.values) for i in indices)
                    yield ElementUse(buffer, places, True, around)
            for number, inner in enumerate(bodies(stmt)):
                yield from self.uses(inner, self.inside(stmt, number, around))

    def inside(self, stmt: Stmt, number: int, around: UseContext) -> UseContext:
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
