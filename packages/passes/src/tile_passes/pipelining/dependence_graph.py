"""Build the data dependence graph of one iteration of a loop.

Nodes are units: statements that stay together, on one core. An edge from `a` to `b` with `distance`
d means: `b` of an iteration comes after `a` of the d-th iteration before. The reason is that both
access `buffer` and one of them writes it; without a buffer, that `b` uses a name that `a` defines.

Definitions that read no memory are no nodes: a copy goes wherever its name is used. In a loop of
one core, a name for a loaded value stays with its users, and so do statements that share the
scratch buffer of an operation. The schedulers of the graph add times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from tile_ir import (
    Body,
    Buffer,
    Core,
    For,
    Func,
    Let,
    Memory,
    Op,
    Region,
    Stmt,
    Store,
    Var,
    loads,
    reads_memory,
    variables_in,
    variables_of,
    walk,
)
from tile_ir.analysis import apart, launch_ranges, loop_range, regions_of
from tile_ir.quick_dataclasses import dataclass
from tile_passes.graphs import nx
from tile_passes.streams.items import Step


class UnitAccess(NamedTuple):
    """An access in a unit: the owner of the bytes, and the region if it is known to be of the
    owner."""

    buffer: Buffer
    region: Region | None
    writes: bool


Pair = tuple[UnitAccess, UnitAccess]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Statements that stay together, in the order of the text, with every access to memory."""

    stmts: Body
    core: Core | None
    accesses: tuple[UnitAccess, ...]


@dataclass(frozen=True)
class Iteration:
    """One iteration of a loop: all its statements, the units in an order that means what the text
    does, and their dependences as a multigraph."""

    loop: For
    steps: tuple[Step, ...]
    units: tuple[Unit, ...]
    graph: nx.MultiDiGraph[Unit]

    @cached_property
    def edges(self) -> tuple[tuple[Unit, Unit, int], ...]:
        """Each pair of units and distance between them once."""
        return tuple(dict.fromkeys(self.graph.edges(data="distance")))


def owners(func: Func) -> dict[Buffer, Buffer]:
    """Map each buffer on chip to the buffer that owns its bytes. Buffers at addresses of the author
    may be anywhere in their memory, and count as one."""
    placed: dict[Memory, Buffer] = {}
    found: dict[Buffer, Buffer] = {}
    for a in func.launch.allocs:
        owner = found.get(a.alias_of, a.alias_of) if a.alias_of else a.buffer
        if a.address is not None:
            owner = placed.setdefault(a.buffer.memory, owner)
        found[a.buffer] = owner
    return found


def _definitions(steps: Sequence[Step]) -> dict[Var, Let]:
    """Definitions that mean the same wherever they stand in an iteration."""
    anywhere: dict[Var, Let] = {}
    here: set[Var] = set()
    for let in (stmt for stmt, _ in steps if isinstance(stmt, Let)):
        if reads_memory(let.value) or variables_of(let) & here:
            here.add(let.var)
        else:
            anywhere[let.var] = let
    return anywhere


def dependence_graph(
    func: Func, loop: For, steps: Sequence[Step], fresh: Collection[Buffer]
) -> Iteration:
    """Build the graph of a loop. Buffers that are `fresh` are written anew in every iteration and
    have bytes for each iteration in flight: they order nothing between iterations."""
    steps = _without_unused(steps)
    anywhere = _definitions(steps)
    scratch = {a.buffer for a in func.launch.allocs if a.scratch}
    several = any(step.core for step in steps)
    owner = owners(func)
    # Scratch of a single operation holds nothing before and behind it.
    left = scratch if several else set()
    units = tuple(
        Unit((stmt,), core, tuple(_accesses(stmt, owner, left)))
        for stmt, core in steps
        if not (isinstance(stmt, Let) and stmt.var in anywhere)
    )
    if not several:
        units = _together(units, scratch, anywhere)
    graph: nx.MultiDiGraph[Unit] = nx.MultiDiGraph()
    graph.add_nodes_from(units)
    meet = _meeting(func, loop, anywhere, several)
    for a, b in combinations_with_replacement(units, 2):
        for buffer, pairs in _conflicts(a, b).items():
            if a is not b and meet(pairs, False):
                graph.add_edge(a, b, distance=0, buffer=buffer)
            if buffer not in fresh and meet([(y, x) for x, y in pairs], True):
                graph.add_edge(b, a, distance=1, buffer=buffer)
            if buffer not in fresh and a is not b and meet(pairs, True):
                graph.add_edge(a, b, distance=1, buffer=buffer)
        if several and a is not b and _names(a, b):
            graph.add_edge(a, b, distance=0, buffer=None)
            graph.add_edge(b, a, distance=1, buffer=None)
    return Iteration(loop, steps, units, graph)


def _meeting(
    func: Func, loop: For, anywhere: Mapping[Var, Let], several: bool
) -> Callable[[Sequence[Pair], bool], bool]:
    """A function that says whether accesses of some pair may meet in one element, the second in the
    same iteration or in a later one."""
    inside = {s.var for s in walk(loop.body) if isinstance(s, (For, Let))} | {loop.var}
    # Both vector cores run the text at a time, each with its own number.
    outside = variables_in(loop.body) - inside - ({func.launch.lane} if several else set())
    known = dict(launch_ranges(func))
    for stmt in walk((loop,)):
        if isinstance(stmt, For):
            known[stmt.var] = loop_range(stmt, known)
    values = {var: let.value for var, let in anywhere.items()}
    # By whether the second is later: what has one value in both.
    same = frozenset(outside | {loop.var}), frozenset(outside)

    def meet(pairs: Sequence[Pair], later: bool) -> bool:
        var = loop.var if later else None
        return any(
            x.buffer.memory is not Memory.GM
            or x.region is None
            or y.region is None
            or not apart(x.region, y.region, same[later], known, var, values)
            for x, y in pairs
        )

    return meet


def _without_unused(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Leave out definitions of names that nothing uses."""
    used: set[Var] = set()
    kept: list[Step] = []
    for step in reversed(steps):
        if not isinstance(step.stmt, Let) or step.stmt.var in used:
            kept.append(step)
            used |= variables_in((step.stmt,))
    return tuple(reversed(kept))


def _accesses(
    stmt: Stmt, owner: Mapping[Buffer, Buffer], left: Set[Buffer]
) -> Iterator[UnitAccess]:
    for inner in walk((stmt,)):
        for region, access, _, _ in regions_of(inner):
            if region.buffer in left and isinstance(inner, Op) and region is inner.scratch:
                continue
            whose = owner.get(region.buffer, region.buffer)
            yield UnitAccess(whose, region if whose is region.buffer else None, access.writes)
        for load in loads(inner):
            if load.buffer.memory is Memory.VAR:
                yield UnitAccess(load.buffer, None, False)
        if isinstance(inner, Store) and inner.buffer.memory is Memory.VAR:
            yield UnitAccess(inner.buffer, None, True)


def _together(
    single: Sequence[Unit], scratch: Set[Buffer], anywhere: Mapping[Var, Let]
) -> tuple[Unit, ...]:
    """Join statements that stay together, each with the definitions that it needs in front."""
    working = [{x.buffer for x in unit.accesses} & scratch for unit in single]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(single)))
    for a, b in combinations(range(len(single)), 2):
        named = _names(single[a], single[b])
        if named or _conflicts(single[a], single[b]):
            graph.add_edge(a, b)
        if named or working[a] & working[b]:
            graph.add_edges_from([(a, b), (b, a)])
    together = nx.condensation(graph)
    members = {n: sorted(together.nodes[n]["members"]) for n in together}
    order = nx.lexicographical_topological_sort(together, key=lambda n: members[n][0])
    return tuple(_joined([single[i] for i in members[n]], anywhere) for n in order)


def _joined(units: Sequence[Unit], anywhere: Mapping[Var, Let]) -> Unit:
    stmts = tuple(s for u in units for s in u.stmts)
    wanted = variables_in(stmts)
    needed: list[Let] = []
    for var, let in reversed(list(anywhere.items())):
        if var in wanted:
            wanted |= variables_of(let)
            needed.append(let)
    return Unit((*needed[::-1], *stmts), None, tuple(x for u in units for x in u.accesses))


def _names(a: Unit, b: Unit) -> bool:
    """Whether one unit defines a name that the other one uses."""
    return any(isinstance(s, Let) and s.var in variables_in(b.stmts) for s in a.stmts)


def _conflicts(a: Unit, b: Unit) -> dict[Buffer, list[Pair]]:
    """The accesses to the same buffer of which one writes, by buffer."""
    found: dict[Buffer, list[Pair]] = {}
    for x in a.accesses:
        for y in b.accesses:
            if x.buffer is y.buffer and (x.writes or y.writes):
                found.setdefault(x.buffer, []).append((x, y))
    return found
