"""One order for the statements of both cores, in which every value is made before it is taken.

Each core keeps the order of the text. Loops of the two cores that hand over the same bytes in every
iteration become one. The result is the text itself wherever the text is such an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

from tile_ir import (
    Body,
    Buffer,
    Core,
    Expr,
    For,
    If,
    Let,
    Stmt,
    Var,
    bodies,
    map_expressions,
    map_region,
    reads_memory,
    rewrite,
    simplify,
    substitute,
    variables_in,
    walk,
    with_bodies,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.graphs import nx
from tile_passes.streams.handovers import Handover, Pair
from tile_passes.streams.items import (
    BOTH,
    GmAccess,
    Item,
    closed,
    gm_accesses,
    items,
    variables,
)
from tile_passes.streams.loops_in_step import (
    Meanings,
    comes_too_early,
    loops_in_step,
    path_to,
)
from tile_passes.streams.merge_errors import (
    later_iteration,
    other_guards,
    other_iterations,
    several_loops,
)


class Circular(Exception):
    """There is no such order."""


@dataclass(frozen=True, slots=True)
class Streams:
    """The facts of the whole kernel for merging."""

    handovers: tuple[Handover, ...]
    values: Mapping[Var, Expr]
    written: frozenset[Buffer]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(p for h in self.handovers for p in h.pairs)

    @property
    def meanings(self) -> Meanings:
        return Meanings(self.values, self.written)

    def renamed(self, renaming: Renaming) -> Streams:
        """The same in terms of the names that a loop has from the one it was fused with."""
        changes = renaming.changes
        values = dict(self.values)
        for var, value in self.values.items():
            new = changes.get(var)
            if isinstance(new, Var):
                values[new] = substitute(value, changes)
        handovers = tuple(
            replace(
                h,
                pairs=tuple(
                    Pair(renaming.access(p.writer), renaming.access(p.reader)) for p in h.pairs
                ),
            )
            for h in self.handovers
        )
        return replace(self, handovers=handovers, values=values)


@dataclass(frozen=True, slots=True)
class Renaming:
    """Names that stand for others, and by their identity the statements that stand for those with
    the names of before."""

    changes: Mapping[Var, Expr]
    stmts: Mapping[int, Stmt]

    def access(self, old: GmAccess) -> GmAccess:
        new = self.stmts.get(id(old.stmt))
        if new is None:
            return old
        region = map_region(old.region, lambda expr: substitute(expr, self.changes))
        return replace(old, stmt=new, region=region)


def merged(body: Body, streams: Streams, core: Core = Core.EITHER) -> Body:
    """The block in an order in which values are made before they are taken; itself if it is.

    Raises Circular where no order is, KernelError where loops that belong together do not fit.
    """
    flat = items(body, core)
    new = _merged_items(flat, streams)
    if len(new) == len(flat) and all(a.stmt is b.stmt for a, b in zip(new, flat, strict=True)):
        return body
    return closed(new)


def _merged_items(found: list[Item], streams: Streams) -> list[Item]:
    if len(found) > 1:
        found, streams = _ordered(found, streams)
    return [_inside(item, streams) for item in found]


def _inside(item: Item, streams: Streams) -> Item:
    if item.core is not Core.EITHER or item.cores() != BOTH:
        return item
    new = with_bodies(item.stmt, tuple(merged(b, streams) for b in bodies(item.stmt)))
    return item if new is item.stmt else replace(item, stmt=new)


def _ordered(found: list[Item], streams: Streams) -> tuple[list[Item], Streams]:
    graph = nx.DiGraph()
    graph.add_nodes_from(found)
    _in_core_order(graph, found)
    _after_definitions(graph, found)
    _by_shared_memory(graph, found, streams)
    partner: dict[Item, Item] = {}
    where = _places(found) if streams.handovers else {}
    for handover in streams.handovers:
        together: list[tuple[Item, Item]] = []
        for pair in handover.pairs:
            a, b = where.get(id(pair.writer.stmt)), where.get(id(pair.reader.stmt))
            if a is None or b is None or a is b:
                continue
            if _belong_together(a, b, pair, streams):
                together.append((a, b))
            else:
                graph.add_edge(a, b)
        for a, b in together:
            if any((a is x) != (b is y) for x, y in together):
                graph.add_edge(a, b)  # several loops take, or leave, the last of all iterations
            else:
                cube, vector = (a, b) if Core.CUBE in a.cores() else (b, a)
                _join(partner, cube, vector)
    for cube, vector in partner.items():
        _check_iterations(cube, vector, streams)
        fused, renaming = _fused(cube, vector, streams.meanings)
        graph = nx.relabel_nodes(graph, {cube: fused, vector: fused})
        streams = streams.renamed(renaming)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    try:
        ordered = list(nx.lexicographical_topological_sort(graph, key=lambda i: i.number))
    except nx.NetworkXUnfeasible:
        raise Circular from None
    return ordered, streams


def _places(found: Sequence[Item]) -> dict[int, Item]:
    """The item in which a statement stands, by its identity."""
    return {id(s): item for item in found for s in walk((item.stmt,))}


def _join(partner: dict[Item, Item], cube: Item, vector: Item) -> None:
    """Two loops become one, unless one of them belongs to a third."""
    if partner.setdefault(cube, vector) is not vector:
        raise several_loops(cube, partner[cube], vector)
    other = next((c for c, v in partner.items() if v is vector and c is not cube), None)
    if other is not None:
        raise several_loops(vector, other, cube)


def _check_iterations(cube: Item, vector: Item, streams: Streams) -> None:
    """One loop for two must do in each iteration what the text says of all iterations."""
    one, other = (cube, vector) if cube.number < vector.number else (vector, cube)
    x, y = one.stmt, other.stmt
    if not (isinstance(x, For) and isinstance(y, For)):
        return
    readers = {id(p.reader.stmt) for p in streams.pairs}
    for a, b in product(gm_accesses((x,), one.core), gm_accesses((y,), other.core)):
        if a.buffer is not b.buffer or not (a.writes or b.writes):
            continue
        # What is handed over is read behind its writer, wherever that stands in the text.
        taken = b.writes and not a.writes and id(a.stmt) in readers
        order = ((b, a), (y, x)) if taken else ((a, b), (x, y))
        if comes_too_early(*order[0], order[1], streams.meanings):
            raise later_iteration(*order[0])


def _in_core_order(graph: nx.DiGraph, found: Sequence[Item]) -> None:
    """Each core keeps the order of the text; what only names a value is no work of a core."""
    working = [(item, item.cores()) for item in found if not _only_names(item.stmt)]
    for core in BOTH:
        graph.add_edges_from(pairwise(item for item, cores in working if core in cores))


def _only_names(stmt: Stmt) -> bool:
    return isinstance(stmt, Let) and not reads_memory(stmt.value)


def _after_definitions(graph: nx.DiGraph, found: Sequence[Item]) -> None:
    """A name comes before its uses, and a variable keeps its stores and loads in order."""
    defined: dict[Var, Item] = {}
    last_store: dict[object, Item] = {}
    loaded: dict[object, list[Item]] = {}
    for item in found:
        for var in variables_in((item.stmt,)):
            if var in defined:
                graph.add_edge(defined[var], item)
        for variable, stores in variables(item.stmt):
            if variable in last_store and last_store[variable] is not item:
                graph.add_edge(last_store[variable], item)
            if stores:
                earlier = loaded.pop(variable, [])
                graph.add_edges_from((i, item) for i in earlier if i is not item)
                last_store[variable] = item
            else:
                loaded.setdefault(variable, []).append(item)
        if isinstance(item.stmt, Let):
            defined[item.stmt.var] = item


def _by_shared_memory(graph: nx.DiGraph, found: Sequence[Item], streams: Streams) -> None:
    """Keep the order of the text for accesses of gm that are no handover."""
    paired = {id(p.writer.stmt) for p in streams.pairs} | {id(p.reader.stmt) for p in streams.pairs}
    handed = {h.buffer for h in streams.handovers}
    # Each core keeps its own order: whoever comes after its last access comes after all of them.
    last: dict[tuple[Buffer, Core], Item] = {}
    last_write: dict[tuple[Buffer, Core], Item] = {}
    for item in found:
        for access in gm_accesses((item.stmt,), item.core):
            buffer, core = access.buffer, access.core
            if buffer in handed and id(access.stmt) in paired:
                continue
            for other in BOTH - {core}:
                earlier = (last if access.writes else last_write).get((buffer, other))
                if earlier is not None and earlier is not item:
                    graph.add_edge(earlier, item)
            last[buffer, core] = item
            if access.writes:
                last_write[buffer, core] = item


def _belong_together(a: Item, b: Item, pair: Pair, streams: Streams) -> bool:
    """Whether two loops hand over the same bytes in every iteration, or two branches that are taken
    together have such loops in them."""
    if not isinstance(a.stmt, (For, If)) or not isinstance(b.stmt, (For, If)):
        return False
    writer = replace(pair.writer, path=path_to(pair.writer.stmt, a.stmt))
    reader = replace(pair.reader, path=path_to(pair.reader.stmt, b.stmt))
    loops = loops_in_step(writer, reader, 0, streams.meanings)
    if loops is None or a.cores() & b.cores():
        return False
    name = pair.writer.buffer.name
    if not loops.equally_often:
        raise other_iterations(name, loops)
    if not loops.same_guards:
        raise other_guards(name, loops)
    return True


def _fused(cube: Item, vector: Item, meanings: Meanings) -> tuple[Item, Renaming]:
    """One loop for two that take the same iterations, one branch for two that are taken together:
    the statements of the cube core, then the vector cores'; what order they need is found inside.
    And the names these have now."""
    x, y = cube.stmt, vector.stmt
    taken = {v.name for s in walk((x,)) for v in _defined(s)}
    same = {y.var: x.var} if isinstance(x, For) and isinstance(y, For) else {}
    changes = _free_names(y, same, taken)
    inside = tuple(_renamed(body, changes) for body in bodies(y))
    olds, news = (walk(sum(part, ())) for part in (bodies(y), inside))
    stmts = {id(old): new for old, new in zip(olds, news, strict=True)}
    together = tuple(
        closed([*items(body, cube.core), *items(other, vector.core)])
        for body, other in zip(bodies(x), inside, strict=True)
    )
    one = with_bodies(_of_both(x, y, meanings), together)
    fused = Item(one, Core.EITHER, min(cube.number, vector.number))
    return fused, Renaming(changes, stmts)


def _defined(stmt: Stmt) -> tuple[Var, ...]:
    return (stmt.var,) if isinstance(stmt, (For, Let)) else ()


def _of_both(x: Stmt, y: Stmt, meanings: Meanings) -> Stmt:
    """The loop or the branch of the cube core, as both cores can run it."""

    def visible(own: Expr, other: Expr) -> Expr:
        # A name of one core alone stands for what both can compute.
        meant = own if simplify(own) == simplify(other) else meanings.fixed(own, {})
        return own if meant is None else meant

    match x, y:
        case If(), If():
            return replace(x, condition=visible(x.condition, y.condition))
        case For(), For():
            start, stop = visible(x.start, y.start), visible(x.stop, y.stop)
            kind, stages = x.kind if x.stages else y.kind, max(x.stages, y.stages)
            return replace(x, start=start, stop=stop, kind=kind, stages=stages)
    raise AssertionError("loops and branches go in step")


def _free_names(stmt: Stmt, same: Mapping[Var, Expr], taken: set[str]) -> dict[Var, Expr]:
    """Other names for what is defined in a statement under a name that is taken."""
    changes = dict(same)
    free = FreeNames(taken | {v.name for s in walk((stmt,)) for v in _defined(s)})
    for s in walk((stmt,)):
        for var in _defined(s):
            if var.name in taken and var not in changes:
                changes[var] = Var(free.fresh(var.name), var.dtype)
    return changes


def _renamed(body: Body, changes: Mapping[Var, Expr]) -> Body:
    """The body with other names, where they are defined and where they are used."""

    def definition(stmt: Stmt) -> Stmt:
        match stmt:
            case For(var=var) | Let(var=var) if var in changes:
                name = changes[var]
                assert isinstance(name, Var), "names become names"
                return replace(stmt, var=name)
        return stmt

    return rewrite(map_expressions(body, lambda e: substitute(e, changes)), definition)
