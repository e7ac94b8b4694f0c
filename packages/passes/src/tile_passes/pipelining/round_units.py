"""The statements of one round of a loop that move together, and which must come before which.

Definitions that read no memory are put before each of their users. A name for what is loaded stays
with its users, and so do statements that share working memory, of which there may be one piece for
all. Says nothing about times, nor about which order is a good one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import networkx as nx

from tile_ir import (
    Body,
    Buffer,
    Expr,
    For,
    Func,
    Let,
    Memory,
    Region,
    Stmt,
    Store,
    Var,
    loads,
    reads_memory,
    variables_in,
    variables_of,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import Ranges, apart, launch_ranges, regions_of


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Statements that stay together, in the order of the text, and every access to memory in them:
    the owner of the bytes, the region where it is one, and whether it writes."""

    stmts: Body
    touched: tuple[tuple[Buffer, Region | None, bool], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """`then` of a round comes after `first` of that `distance` earlier, for what both touch."""

    first: Unit
    then: Unit
    distance: int
    about: Buffer


@dataclass(frozen=True, slots=True)
class Round:
    """The units of a round, in an order that means what the text does, and the orders they must
    keep."""

    loop: For
    units: tuple[Unit, ...]
    orders: tuple[Order, ...]


def owners(func: Func) -> dict[Buffer, Buffer]:
    """Whose bytes each buffer on chip names. Those at addresses of the author's may be anywhere in
    their memory, and count as one."""
    placed: dict[Memory, Buffer] = {}
    found: dict[Buffer, Buffer] = {}
    for a in func.launch.allocs:
        owner = found.get(a.alias_of, a.alias_of) if a.alias_of else a.buffer
        if a.address is not None:
            owner = placed.setdefault(a.buffer.memory, owner)
        found[a.buffer] = owner
    return found


def round_of(func: Func, loop: For, fresh: Collection[Buffer]) -> Round:
    """The units of a loop, at phase SPLIT: all of them are of one core. What is written to `fresh`
    buffers in every round has bytes for each round in flight, and orders nothing between rounds."""
    owner = owners(func)
    scratch = {a.buffer for a in func.launch.allocs if a.scratch}
    anywhere, stmts = _put_in(loop.body)
    single = [Unit((s,), tuple(_touched(s, owner))) for s in stmts]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(single)))
    used = [variables_in((s,)) for s in stmts]
    for a, b in combinations(range(len(single)), 2):
        shared = _conflicts(single[a], single[b])
        named = _defines(stmts[a]) & used[b]
        if shared or named:
            graph.add_edge(a, b)
        if named or _share(single[a], single[b], scratch):
            graph.add_edges_from([(a, b), (b, a)])
    together = nx.condensation(graph)
    members = {n: sorted(together.nodes[n]["members"]) for n in together}
    order = nx.lexicographical_topological_sort(together, key=lambda n: members[n][0])
    units = tuple(_joined([single[i] for i in members[n]], anywhere) for n in order)
    meets = _Meets(
        loop.var, _free(loop), launch_ranges(func), {v: x.value for v, x in anywhere.items()}
    )
    orders: list[Order] = []
    for first, then in combinations_with_replacement(units, 2):
        orders += _orders(first, then, frozenset(fresh), meets)
    return Round(loop, units, tuple(orders))


def _put_in(body: Body) -> tuple[dict[Var, Let], list[Stmt]]:
    """Definitions that mean the same wherever they stand, and all other statements but names that
    nobody uses."""
    anywhere: dict[Var, Let] = {}
    others: list[Stmt] = []
    here: set[Var] = set()
    for stmt in _without_unused(body):
        if isinstance(stmt, Let) and not reads_memory(stmt.value) and not variables_of(stmt) & here:
            anywhere[stmt.var] = stmt
        else:
            here |= _defines(stmt)
            others.append(stmt)
    return anywhere, others


def _without_unused(body: Body) -> list[Stmt]:
    """Without names that nobody uses, but for names that nobody uses."""
    used: set[Var] = set()
    kept: list[Stmt] = []
    for stmt in reversed(body):
        if not isinstance(stmt, Let) or stmt.var in used:
            kept.append(stmt)
            used |= variables_in((stmt,))
    return kept[::-1]


def _needed(stmts: Body, anywhere: Mapping[Var, Let]) -> Body:
    """The definitions that statements need, those of their values first."""
    wanted = variables_in(stmts)
    found: list[Let] = []
    for var, let in reversed(list(anywhere.items())):
        if var in wanted:
            wanted |= variables_of(let)
            found.append(let)
    return tuple(reversed(found))


def _touched(
    stmt: Stmt, owner: Mapping[Buffer, Buffer]
) -> list[tuple[Buffer, Region | None, bool]]:
    found: list[tuple[Buffer, Region | None, bool]] = []
    for inner in walk_statements((stmt,)):
        for region, access, _, _ in regions_of(inner):
            whose = owner.get(region.buffer, region.buffer)
            found.append((whose, region if whose is region.buffer else None, access.writes))
        for load in loads(inner):
            if load.buffer.memory is Memory.VAR:
                found.append((load.buffer, None, False))
        if isinstance(inner, Store) and inner.buffer.memory is Memory.VAR:
            found.append((inner.buffer, None, True))
    return found


def _conflicts(a: Unit, b: Unit) -> set[Buffer]:
    """What both touch, and one of them writes."""
    return {
        x for x, _, writes in a.touched for y, _, too in b.touched if x is y and (writes or too)
    }


def _share(a: Unit, b: Unit, buffers: Collection[Buffer]) -> bool:
    return any(x is y and x in buffers for x, _, _ in a.touched for y, _, _ in b.touched)


def _joined(units: Sequence[Unit], anywhere: Mapping[Var, Let]) -> Unit:
    stmts = tuple(s for u in units for s in u.stmts)
    touched = tuple(t for u in units for t in u.touched)
    return Unit((*_needed(stmts, anywhere), *stmts), touched)


@dataclass(frozen=True, slots=True)
class _Meets:
    """Whether two units may touch one element of a buffer. `outside`: variables that have one value
    in all rounds; `values`: what names of the loop stand for."""

    var: Var
    outside: frozenset[Var]
    known: Ranges
    values: Mapping[Var, Expr]

    def __call__(self, a: Unit, b: Unit, buffer: Buffer, later: bool) -> bool:
        """`b` in the same round, or in a later one."""
        same = self.outside if later else self.outside | {self.var}
        return any(
            r is None
            or q is None
            or buffer.memory is not Memory.GM
            or not apart(r, q, same, self.known, self.var if later else None, self.values)
            for x, r, writes in a.touched
            if x is buffer
            for y, q, too in b.touched
            if y is buffer and (writes or too)
        )


def _orders(a: Unit, b: Unit, fresh: frozenset[Buffer], meets: _Meets) -> list[Order]:
    """Of a unit and one behind it in the text, in one round and from a round to later ones."""
    found: list[Order] = []
    for buffer in _conflicts(a, b):
        if a is not b and meets(a, b, buffer, False):
            found.append(Order(a, b, 0, buffer))
        if buffer not in fresh:
            if meets(b, a, buffer, True):
                found.append(Order(b, a, 1, buffer))
            if a is not b and meets(a, b, buffer, True):
                found.append(Order(a, b, 1, buffer))
    return found


def _free(loop: For) -> frozenset[Var]:
    """Variables that have one value in all rounds."""
    inside = {loop.var}
    for stmt in walk_statements(loop.body):
        inside |= _defines(stmt) | ({stmt.var} if isinstance(stmt, For) else set())
    return frozenset(variables_in(loop.body) - inside)


def _defines(stmt: Stmt) -> set[Var]:
    return {stmt.var} if isinstance(stmt, Let) else set()


__all__ = ["Order", "Round", "Unit", "owners", "round_of"]
