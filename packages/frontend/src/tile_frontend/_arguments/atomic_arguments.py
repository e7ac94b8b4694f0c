"""Build `T.atomic_add`: of tiles, and of one value to one element, which in `T.Parallel` are a tile
and its place where indices say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tile_frontend._arguments.build_op import build_op, element_region, whole_region
from tile_frontend._arguments.copy_arguments import copy_regions
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, stored_value
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import (
    OPS,
    ArgumentDef,
    Body,
    Buffer,
    Const,
    Expr,
    For,
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
    call_arguments,
    constant_value,
    expressions,
    linear_form,
    loads,
    map_own_expressions,
    simplify,
    substitute,
    walk,
    walk_expr,
    walk_ops,
    written_buffers,
)


def atomic_add(
    dst: Any, src: Any, memory_order: Any = None, return_prev: Any = False, use_tma: Any = False,
    annotations: Any = None,
) -> Pending:  # fmt: skip
    """Add a tile to a tensor, or a value to an element of it, in its place among what other cores
    add. `memory_order`, `use_tma` and `annotations` have no effect."""
    if return_prev is not False:
        message = "atomic_add: the chip adds in memory and returns nothing"
        raise Fault("attribute-value", message, "leave out return_prev", "return_prev")
    is_value = python_number(src) is not None or isinstance(src, Scalar)
    place = dst.expr if isinstance(dst, Scalar) else None
    if is_value and whole_region(src) is None and isinstance(place, Load) and place.indices:
        return _element(place, src)
    a, b = copy_regions(src, dst, False, "atomic_add")
    return build_op(OPS["atomic_add"], {"dst": b, "src": a}, "tile.atomic_add")


ATOMIC_ADD = OpFunction(
    OPS["atomic_add"],
    atomic_add,
    (
        *call_arguments(OPS["atomic_add"]),
        *(ArgumentDef(n, (), None) for n in ("memory_order", "use_tma", "annotations")),
        ArgumentDef("return_prev", (), False),
    ),
)


def _element(place: Load, value: Any) -> Pending:
    """One value by way of a tile of one element."""
    trace = current("atomic_add")
    dtype = place.buffer.dtype
    tile = Tile(Memory.UB, dtype, (Const(1),), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, "added", trace.ANONYMOUS)
    trace.added.add(tile.buffer)
    trace.emit(Store(tile.buffer, (Const(0),), stored_value(value, dtype), trace.here))
    given = {"dst": element_region(place), "src": tile}
    return build_op(OPS["atomic_add"], given, "tile.atomic_add")


def behind_the_nest(
    trace: Trace, loops: Sequence[For], body: Body
) -> tuple[Body, tuple[Stmt, ...]]:
    """The body of a nest without what it adds to elements of tensors, and that as additions of
    tiles behind the nest; the body as it is, where some indices are no rows of a tensor."""
    names: dict[Var, Expr] = {}
    inside: list[Stmt] = []
    behind: list[Stmt] = []
    written = written_buffers(body)
    tiles: dict[Buffer, Buffer] = {}
    extents = [constant_value(simplify(loop.stop - loop.start)) for loop in loops]
    if None in extents or not any(map(trace.adds, body)):
        return body, ()
    for stmt in body:
        if isinstance(stmt, Let) and not any(x.buffer in written for x in loads(stmt)):
            names[stmt.var] = substitute(stmt.value, names)
        if isinstance(stmt, Store) and stmt.buffer in trace.added:
            tile = Tile(
                Memory.UB, stmt.buffer.dtype, tuple(Const(e or 1) for e in extents), stmt.loc
            )
            trace.allocate(tile)
            trace.name_tile(tile, "added", trace.ANONYMOUS)
            tiles[stmt.buffer] = tile.buffer
            places = tuple(loop.var - loop.start for loop in loops)
            inside.append(Store(tile.buffer, places, stmt.value, stmt.loc))
        elif trace.adds(stmt):
            assert isinstance(stmt, Op), "it is an addition"
            added = _rows_added(stmt, loops, tiles, names)
            if added is None or _needs(added, body, set(names)):
                return _as_it_is(trace, tiles, body)
            behind.append(added)
        else:
            inside.append(stmt)
    targets = {op.region("dst").buffer for op in walk_ops(tuple(behind))}
    rest = tuple(inside)
    if any(trace.adds(s) or targets & buffers_of(s) for s in walk(rest)):
        return _as_it_is(trace, tiles, body)
    trace.allocations[:] = [t for t in trace.allocations if t.buffer not in tiles]
    return rest, tuple(behind)


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
    op: Op, loops: Sequence[For], tiles: Mapping[Buffer, Buffer], names: Mapping[Var, Expr]
) -> Stmt | None:
    """The addition of the whole tile, in serial loops where its rows have places of their own."""
    named = map_own_expressions(op, lambda e: substitute(e, names))
    assert isinstance(named, Op), "only its expressions change"
    indices = [s.offset for s in named.region("dst").dims]
    tile = tiles.get(op.region("src").buffer)
    if tile is None:
        return None
    for outside in range(len(loops)):
        own = {loop.var: loop for loop in loops[outside:]}
        dims = _box(indices, own)
        if dims is None:
            continue
        front = [Slice(loop.var - loop.start, Const(1)) for loop in loops[:outside]]
        rest = [Slice(Const(0), simplify(loop.stop - loop.start)) for loop in own.values()]
        target = Region(named.region("dst").buffer, tuple(dims))
        stmt: Stmt = replace(op, operands=(Region(tile, (*front, *rest)), target))
        for loop in reversed(loops[:outside]):
            stmt = replace(loop, kind=LoopKind.SERIAL, body=(stmt,))
        return stmt
    return None


def _box(indices: Sequence[Expr], own: Mapping[Var, For]) -> list[Slice] | None:
    """The elements over some loops as a box whose dimensions follow them in their order."""
    dims: list[Slice] = []
    order: list[Var] = []
    for index in indices:
        here = [v for v in own if v in set(walk_expr(index))]
        if not here:
            dims.append(Slice(index, Const(1)))
            continue
        terms, _ = linear_form(index)
        others = [atom for atom in terms if atom != here[0]]
        if len(here) > 1 or terms.get(here[0]) != 1:
            return None
        if any(here[0] in set(walk_expr(atom)) for atom in others):
            return None
        loop = own[here[0]]
        start = simplify(substitute(index, {loop.var: loop.start}))
        dims.append(Slice(start, simplify(loop.stop - loop.start)))
        order.append(here[0])
    return dims if order == list(own) else None
