"""Move additions to elements of tensors out of nests of `T.Parallel`.

They become tiles with their places behind the nest, where the indices allow it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from tile_frontend._tracing.trace import Trace
from tile_frontend._tracing.values import Tile
from tile_ir import (
    Binary,
    Body,
    Buffer,
    Const,
    DType,
    Expr,
    For,
    If,
    Let,
    Load,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    Stmt,
    Store,
    Var,
    buffers_of,
    conjunction,
    constant_value,
    expressions,
    linear_form,
    loads,
    map_expressions,
    map_own_expressions,
    reads_memory,
    replace_buffers,
    select,
    simplify,
    substitute,
    walk,
    walk_expr,
    walk_ops,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass, replace


def behind_the_nest(
    trace: Trace, loops: Sequence[For], body: Body
) -> tuple[Body, tuple[Stmt, ...]]:
    """Move additions to elements of tensors out of a nest. Returns the body without them, and
    additions of whole tiles for the place behind the nest. The body is unchanged where some indices
    are no rows of a tensor."""
    extents = [constant_value(simplify(loop.stop - loop.start)) for loop in loops]
    if None in extents or not any(trace.adds(s) for s in walk(body)):
        return body, ()
    taken = _Taken(trace, loops, extents, body)
    if not all(taken.take(stmt, None) for stmt in body):
        return _as_it_is(trace, taken.tiles, body)
    targets = {op.region("dst").buffer for op in walk_ops(tuple(taken.behind))}
    rest = tuple(taken.inside)
    if any(trace.adds(s) or targets & buffers_of(s) for s in walk(rest)):
        return _as_it_is(trace, taken.tiles, body)
    trace.allocations[:] = [t for t in trace.allocations if t.buffer not in taken.tiles]
    return _from_where_they_are(trace, taken.tiles.values(), rest, tuple(taken.behind))


def _lowest(dtype: DType) -> float:
    return -math.inf if dtype.is_float else dtype.limits()[0]


def _highest(dtype: DType) -> float:
    return math.inf if dtype.is_float else dtype.limits()[1]


# What an update with it leaves as it is.
_NEUTRAL: Mapping[str, Callable[[DType], float]] = {
    "atomic_add": lambda dtype: 0.0 if dtype.is_float else 0,
    "atomic_max": _lowest,
    "atomic_min": _highest,
}


@dataclass(eq=False)
class _Taken:
    """Divide the body of a nest into the part that stays `inside` and the additions `behind` it."""

    trace: Trace
    loops: Sequence[For]
    extents: Sequence[int | None]
    body: Body
    names: dict[Var, Expr] = field(default_factory=dict)
    inside: list[Stmt] = field(default_factory=list)
    behind: list[Stmt] = field(default_factory=list)
    tiles: dict[Buffer, Buffer] = field(default_factory=dict)

    def take(self, stmt: Stmt, condition: Expr | None) -> bool:
        """Take one statement, which is done where a condition holds; False if that can not be."""
        trace = self.trace
        if isinstance(stmt, Let) and not any(x.buffer in self.written for x in loads(stmt)):
            self.names[stmt.var] = substitute(stmt.value, self.names)
        if isinstance(stmt, Store) and stmt.buffer in trace.added:
            if condition is not None and not self._is_harmless(stmt):
                return False
            if stmt.buffer not in self.tiles:
                self.tiles[stmt.buffer] = _tile_of_all(trace, stmt, self.extents)
            self.inside.append(_in_tile(stmt, self.loops, self.tiles[stmt.buffer]))
            return True
        if trace.adds(stmt):
            assert isinstance(stmt, Op), "it is an addition"
            added = _rows_added(stmt, self.loops, self.tiles, self.names, condition)
            if added is None or _needs(added, self.body, set(self.names)):
                return False
            self.behind.append(added)
            return True
        if isinstance(stmt, If) and any(trace.adds(s) for s in walk((stmt,))):
            if stmt.orelse or condition is not None:
                return False
            holds = substitute(stmt.condition, self.names)
            if self.loops[-1].var in walk_expr(holds):
                return all(self.take_masked(s, stmt, holds) for s in stmt.then)
            return all(self.take(s, holds) for s in stmt.then)
        if condition is None:
            self.inside.append(stmt)
        return condition is None or isinstance(stmt, Let)

    def take_masked(self, stmt: Stmt, branch: If, holds: Expr) -> bool:
        """Take one statement of a branch that differs from element to element: what changes nothing
        is added where its condition does not hold. False if that can not be."""
        if isinstance(stmt, Let):
            return self.take(stmt, None) and stmt.var in self.names
        if isinstance(stmt, Store) and stmt.buffer in self.trace.added:
            value = substitute(stmt.value, self.names)
            (op,) = (s for s in branch.then if isinstance(s, Op) and stmt.buffer in buffers_of(s))
            nothing = Const(_NEUTRAL[op.opdef.name](value.dtype), value.dtype)
            masked = Store(stmt.buffer, stmt.indices, select(holds, value, nothing), stmt.loc)
            return self.take(masked, None)
        if isinstance(stmt, Store):
            (stmt,) = map_expressions((stmt,), lambda e: substitute(e, self.names))
            self.inside.append(replace(branch, then=(stmt,)))
            return True
        if not isinstance(stmt, Op) or not self.trace.adds(stmt):
            return False
        target = map_own_expressions(stmt, lambda e: substitute(e, self.names))
        assert isinstance(target, Op), "only its expressions change"
        starts = {loop.var: loop.start for loop in self.loops}
        places = [substitute(s.offset, starts) for s in target.region("dst").dims]
        inside = all(reads_memory(p) or self.trace.surely(p >= 0) for p in places)
        of_rows = [e for e in _conjuncts(holds) if self.loops[-1].var not in walk_expr(e)]
        return inside and self.take(stmt, conjunction(of_rows) if of_rows else None)

    @cached_property
    def written(self) -> Collection[Buffer]:
        return written_buffers(self.body)

    def _is_harmless(self, store: Store) -> bool:
        """Whether the added value may also be read where nothing is added."""
        own = {loop.var for loop in self.loops}
        return all(
            isinstance(index, Const) or index in own
            for load in loads(store)
            for index in load.indices
        ) and not any(isinstance(e, Var) and e not in own for e in walk_expr(store.value))


def _conjuncts(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op == "and":
        return [*_conjuncts(e.left), *_conjuncts(e.right)]
    return [e]


def _from_where_they_are(
    trace: Trace, tiles: Iterable[Buffer], body: Body, behind: Body
) -> tuple[Body, Body]:
    """The body and what follows it without tiles that have what another one has at the same
    places."""
    same: dict[Buffer, Buffer] = {}
    written = written_buffers(body)
    for tile in tiles:
        stores = [s for s in body if isinstance(s, Store) and s.buffer == tile]
        source = _copied(stores)
        everywhere = [s for s in walk(body) if tile in buffers_of(s)]
        if source is not None and source not in written and len(everywhere) == len(stores):
            same[tile] = source
    if not same:
        return body, behind
    trace.allocations[:] = [t for t in trace.allocations if t.buffer not in same]
    body = tuple(s for s in body if not (isinstance(s, Store) and s.buffer in same))
    return body, replace_buffers(behind, same)


def _copied(stores: Sequence[Store]) -> Buffer | None:
    """The tile on the chip whose elements are stored, each to its own place in another."""
    found: set[Buffer] = set()
    for store in stores:
        value = store.value
        if not isinstance(value, Load) or value.buffer.memory in (Memory.GM, Memory.VAR):
            return None
        if tuple(map(simplify, value.indices)) != tuple(map(simplify, store.indices)):
            return None
        found.add(value.buffer)
    return found.pop() if len(found) == 1 else None


def _tile_of_all(trace: Trace, stmt: Store, extents: Sequence[int | None]) -> Buffer:
    """A tile for the additions of all iterations: each has one element, or a row."""
    width = stmt.buffer.static_shape() or (1,)
    sizes = [Const(e or 1) for e in extents]
    tile = Tile(
        Memory.UB, stmt.buffer.dtype, (*sizes[:-1], simplify(sizes[-1] * width[0])), stmt.loc
    )
    trace.allocate(tile)
    trace.name_tile(tile, "added", trace.ANONYMOUS)
    return tile.buffer


def _in_tile(stmt: Store, loops: Sequence[For], tile: Buffer) -> Store:
    """The assignment of an element of the row of one iteration, in the tile of all."""
    (width,) = stmt.buffer.static_shape() or (1,)
    *front, last = (loop.var - loop.start for loop in loops)
    place = last if width == 1 else last * width + stmt.indices[0]
    return Store(tile, (*front, place), stmt.value, stmt.loc)


def _as_it_is(trace: Trace, tiles: Mapping[Buffer, Buffer], body: Body) -> tuple[Body, Body]:
    """The body, element by element, without the tiles that were made for it."""
    made = set(tiles.values())
    trace.allocations[:] = [t for t in trace.allocations if t.buffer not in made]
    return body, ()


def _needs(added: Stmt, body: Body, known: set[Var]) -> bool:
    """Whether the place of an addition depends on what the body computes."""
    named = {s.var for s in walk(body) if isinstance(s, (Let, For))} - known
    written = written_buffers(body)
    return any(
        part in named or (isinstance(part, Load) and part.buffer in written)
        for stmt in walk((added,))
        for e in expressions(stmt)
        for part in walk_expr(e)
    )


def _rows_added(
    op: Op,
    loops: Sequence[For],
    tiles: Mapping[Buffer, Buffer],
    names: Mapping[Var, Expr],
    condition: Expr | None,
) -> Stmt | None:
    """The addition of the whole tile, in serial loops where its rows have places of their own, or
    some of them are left out."""
    named = map_own_expressions(op, lambda e: substitute(e, names))
    assert isinstance(named, Op), "only its expressions change"
    indices = [s.offset for s in named.region("dst").dims]
    width = constant_value(named.region("dst").dims[-1].extent) or 1
    tile = tiles.get(op.region("src").buffer)
    if tile is None:
        return None
    decide = set(walk_expr(condition)) if condition is not None else set()
    least = max((n for n, loop in enumerate(loops, 1) if loop.var in decide), default=0)
    for outside in range(least, len(loops)):
        own = {loop.var: loop for loop in loops[outside:]}
        dims = _box(indices, own, width)
        if dims is None:
            continue
        front = [Slice(loop.var - loop.start, Const(1)) for loop in loops[:outside]]
        rest = [Slice(Const(0), simplify(loop.stop - loop.start)) for loop in own.values()]
        rest[-1] = Slice(Const(0), simplify(rest[-1].extent * width))
        target = Region(named.region("dst").buffer, tuple(dims))
        stmt: Stmt = replace(op, operands=(Region(tile, (*front, *rest)), target))
        if condition is not None:
            stmt = If(condition, (stmt,), (), op.loc)
        for loop in reversed(loops[:outside]):
            stmt = replace(loop, kind=LoopKind.SERIAL, body=(stmt,))
        return stmt
    return None


def _box(indices: Sequence[Expr], own: Mapping[Var, For], width: int) -> list[Slice] | None:
    """The elements over some loops as a box whose dimensions follow them in their order; each
    iteration has `width` of the last dimension."""
    dims: list[Slice] = []
    order: list[Var] = []
    for position, index in enumerate(indices):
        step = width if position == len(indices) - 1 else 1
        here = [v for v in own if v in set(walk_expr(index))]
        if not here:
            if step > 1:
                return None
            dims.append(Slice(index, Const(1)))
            continue
        terms, _ = linear_form(index)
        others = [atom for atom in terms if atom != here[0]]
        if len(here) > 1 or terms.get(here[0]) != step:
            return None
        if any(here[0] in set(walk_expr(atom)) for atom in others):
            return None
        loop = own[here[0]]
        start = simplify(substitute(index, {loop.var: loop.start}))
        dims.append(Slice(start, simplify((loop.stop - loop.start) * step)))
        order.append(here[0])
    return dims if order == list(own) else None
