"""Make the iterations of a block's loop blocks of their own, so that several of them may be done
together. The iterations of a persistent block are a loop again."""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Let,
    Loc,
    LoopKind,
    Memory,
    Op,
    Stmt,
    Store,
    Var,
    accesses,
    breaks,
    constant_value,
    expressions,
    is_constant,
    linear_form,
    loads,
    map_expressions,
    resolved,
    simplify,
    substitute,
    walk,
    walk_expr,
    written_buffers,
)
from tile_ir.analysis import constant_trips
from tile_passes.analysis.liveness import carried_by_loops
from tile_passes.free_names import FreeNames
from tile_passes.retiling.grid import Grid, GridDim, grid_of, with_places

LOOPS = (LoopKind.SERIAL, LoopKind.PIPELINED)
# The name of a place of a grid, how many blocks neighbours are apart, and how many there are.
Place = tuple[Var, int, int]


def with_loop_places(func: Func) -> Func | None:
    """The function whose blocks do one iteration each of the loop that ends its body; None where
    iterations depend on each other, or may. Each block does what is in front of the loop again, and
    gets the same tiles by it."""
    func = with_places(func)
    grid = grid_of(func)
    body = func.launch.body
    if grid is None or not body or not isinstance(loop := body[-1], For):
        return None
    count = _independent(func, loop, body[:-1])
    if count is None or loop.var.dtype != grid.block.dtype:
        return None
    for dim in grid.dims:
        found = _joined(func, grid, dim, loop, count)
        if found is not None:
            return found
    return _nested(func, grid, loop, count)


def _independent(func: Func, loop: For, before: Body) -> int | None:
    """The number of iterations, if no order of them gives anything else."""
    count = constant_trips(loop)
    plain = loop.kind in LOOPS and is_constant(loop.start, 0) and not loop.given
    if count is None or count < 2 or not plain or loop.task is not None:
        return None
    rooms = [a.buffer for a in func.launch.allocs]
    if any(breaks(loop.body)) or any(map(_is_of_launch, rooms)):
        return None
    written, first = written_buffers(loop.body), written_buffers(before)
    if written & first or any(b.memory is Memory.GM for b in first):
        return None
    tensors = {b for b in written if b.memory is Memory.GM}
    if tensors & _read(func.launch.body) or not all(_apart(loop, b) for b in tensors):
        return None
    carried = carried_by_loops(func.launch.allocs, func.launch.body, {loop})[loop]
    return None if carried & written else count


def _is_of_launch(room: Buffer) -> bool:
    """Whether it lies in gm, where each block has its part, or is as long as a caller says."""
    return room.memory is Memory.GM or room.static_shape() is None


def _read(body: Body) -> set[Buffer]:
    found = {e.buffer for s in walk(body) for e in loads(s)}
    ops = (s for s in walk(body) if isinstance(s, Op))
    return found | {r.buffer for s in ops for r, a in accesses(s) if a.reads}


def _apart(loop: For, tensor: Buffer) -> bool:
    """Whether iterations write other elements of a tensor: some index of the only statement that
    writes it goes up with the iteration, by as much at least as the statement writes there."""
    writers = [s for s in walk(loop.body) if _writes(s, tensor)]
    if len(writers) != 1:
        return False
    (stmt,) = writers
    names = {s.var: s.value for s in walk(loop.body) if isinstance(s, Let)}
    inner = {s.var for s in walk(loop.body) if isinstance(s, For)}
    if isinstance(stmt, Store):
        return any(_steps(i, loop.var, names, inner) >= 1 for i in stmt.indices)
    assert isinstance(stmt, Op), "statements that write are stores and operations"
    (region,) = (r for r, a in accesses(stmt) if a.writes and r.buffer == tensor)
    return any(
        s.stride == 1
        and isinstance(length := constant_value(s.extent), int)
        and _steps(s.offset, loop.var, names, inner) >= length
        for s in region.dims
    )


def _writes(stmt: Stmt, tensor: Buffer) -> bool:
    match stmt:
        case Store(buffer=buffer):
            return buffer == tensor
        case Op():
            return any(a.writes and r.buffer == tensor for r, a in accesses(stmt))
    return False


def _steps(index: Expr, var: Var, names: Mapping[Var, Expr], inner: set[Var]) -> int:
    """How far an index goes with a variable, if nothing but that changes it in the loop; or 0."""
    terms, _ = linear_form(resolved(index, names))
    if any(not isinstance(atom, Var) or atom in inner for atom in terms):
        return 0
    return terms.get(var, 0)


def _joined(func: Func, grid: Grid, dim: GridDim, loop: For, count: int) -> Func | None:
    """The blocks of a dimension with iterations that follow on those of the block before, where
    the body uses no place but `place * count + iteration`."""
    place = grid.var(dim)
    names = {s.var: s.value for s in func.launch.body if isinstance(s, Let) and s is not dim.let}
    named = {v: e for v in names if _mentions(e := resolved(names[v], names), place)}
    known = {**named, loop.var: loop.var - place * count}
    body = map_expressions(
        (*(s for s in func.launch.body[:-1] if not _defines(s, {*named, place})), *loop.body),
        lambda e: simplify(substitute(e, known)),
    )
    if any(_mentions(e, place) for s in walk(body) for e in expressions(s)):
        return None
    return _with_grid(func, grid, dim, count, body, ((loop.var, dim.stride, dim.count * count),))


def _nested(func: Func, grid: Grid, loop: For, count: int) -> Func:
    """Blocks for each iteration, next to each other."""
    dim = grid.dims[0]
    places = (
        (loop.var, dim.stride, count), (grid.var(dim), dim.stride * count, dim.count),
    )  # fmt: skip
    body = tuple(s for s in func.launch.body[:-1] if not _defines(s, {grid.var(dim)}))
    return _with_grid(func, grid, dim, count, (*body, *loop.body), places)


def _with_grid(
    func: Func, grid: Grid, changed: GridDim, count: int, body: Body, places: tuple[Place, ...]
) -> Func:
    """The function on so many times the blocks, with other places for a dimension of its grid."""
    blocks, launch = grid.blocks * count, func.launch
    if changed.let is None and len(places) == 1:
        return func.with_body(body, blocks=Const(blocks), block=places[0][0])
    number = launch.block
    if changed.let is None:
        number = Var(FreeNames.of(func).fresh("number"), number.dtype)
    slower = {
        d.let: _place((grid.var(d), d.stride * count, d.count), number, blocks, launch.loc)
        for d in grid.dims
        if d.let is not None and d.stride > changed.stride
    }
    lets = (_place(p, number, blocks, launch.loc) for p in places)
    body = tuple(slower.get(s, s) if isinstance(s, Let) else s for s in body)
    return func.with_body((*lets, *body), blocks=Const(blocks), block=number)


def _place(place: Place, number: Var, blocks: int, at: Loc) -> Let:
    var, stride, count = place
    value: Expr = number // stride if stride > 1 else number
    return Let(var, value % count if stride * count < blocks else value, at)


def _defines(stmt: Stmt, names: set[Var]) -> bool:
    return isinstance(stmt, Let) and stmt.var in names


def _mentions(expr: Expr, var: Var) -> bool:
    return var in set(walk_expr(expr))
