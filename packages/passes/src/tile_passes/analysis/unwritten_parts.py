"""Find tiles that may be read where nothing has written them: they are written in branches, or part
by part, and read as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from tile_ir import (
    OPS,
    Alloc,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    Var,
    accesses,
    bodies,
    buffers_of,
    constant_value,
    is_constant,
    loads,
    simplify,
    walk,
    walk_expr,
    written_buffers,
)
from tile_ir.analysis import surely_runs
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.assumed_conditions import conditions_around, with_assumed
from tile_passes.analysis.gen_kill import GenKill, storages_of
from tile_passes.analysis.path_context import PathContext
from tile_passes.analysis.stored_elements import stores_all
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.residency.value_uses import ValueUses

# The text is analysed for all values of these together: more conditions than most kernels have.
MOST_CONDITIONS = 4


def unwritten_parts(func: Func) -> list[Buffer]:
    """Tiles in ub of which an author can not mean what they hold where a block begins, in the order
    of their allocations."""
    allocs = func.launch.allocs
    written = written_buffers(func.launch.body)
    names: dict[Buffer, list[Buffer]] = {}
    for a in allocs:
        if a.alias_of is not None:
            names.setdefault(a.alias_of, []).append(a.buffer)
    found = {
        a.buffer
        for a in allocs
        if a.address is None
        and a.alias_of is None
        and not a.scratch
        and a.buffer.memory is Memory.UB
        and written.isdisjoint(names.get(a.buffer, ()))
        and _is_unwritten(func.launch.body, a.buffer, names.get(a.buffer, ()))
    }
    asked = [a for a in allocs if a.buffer in found or a.alias_of in found]
    return _exposed(asked, func.launch.body) if found else []


def is_scattered(body: Body, tile: Buffer) -> bool:
    """Whether numbers in tensors or tiles say where elements of the tile are stored: that they name
    all of them is the author's word."""
    lets = {s.var: s.value for s in walk(body) if isinstance(s, Let)}

    def loaded(e: Expr) -> bool:
        return any(
            loaded(lets[part])
            if isinstance(part, Var) and part in lets
            else isinstance(part, Load) and part.buffer.memory is not Memory.VAR
            for part in walk_expr(e)
        )

    stores = (s for s in walk(body) if isinstance(s, Store) and s.buffer is tile)
    return any(loaded(index) for s in stores for index in s.indices)


def _exposed(allocs: Sequence[Alloc], body: Body) -> list[Buffer]:
    """Those with a byte that is not surely written, by all statements before it together, where it
    is read, under whatever name and whichever way the conditions go under which it is written."""
    storages = storages_of(allocs)

    def exposed(text: Body) -> list[Buffer]:
        found = GenKill.of(storages, text, {}).block(text, PathContext()).exposed
        owners = (a.buffer for a in allocs if a.alias_of is None)
        return [buffer for buffer in owners if storages[buffer] in found.parts]

    def in_any_way(tile: Buffer) -> bool:
        conditions = dict.fromkeys(conditions_around(body, tile))
        text = body
        for condition in conditions if len(conditions) <= MOST_CONDITIONS else ():
            text = with_assumed(text, condition)
        return text is body or tile in exposed(text)

    return [tile for tile in exposed(body) if in_any_way(tile)]


def _is_unwritten(body: Body, tile: Buffer, names: Sequence[Buffer]) -> bool:
    """The same of one tile, which has other `names` that are only read."""
    if tile.dtype not in (OPS["fill"].operands[0].dtypes or ()):
        return False
    body = _where_used(body, {tile, *names})
    found = [*_TileWrites(body, tile).of(body, False)]
    if not any(w.in_branch or w.moves for w in found if not w.covers):
        return False
    if names:
        return not any(w.covers for w in found) and any(_is_read_whole(body, n) for n in names)
    return bool(ValueUses(tile).of_body(body).reads) and _is_read_whole(body, tile)


def _where_used(body: Body, names: Set[Buffer]) -> Body:
    """The side of a branch that has all uses of a tile; the body itself where there is none."""
    while True:
        users = [s for s in body if any(names & buffers_of(inner) for inner in walk((s,)))]
        if (
            len(users) != 1
            or not isinstance(users[0], (If, Section))
            or names & buffers_of(users[0])
        ):
            return body
        sides = [b for b in bodies(users[0]) if any(names & buffers_of(s) for s in walk(b))]
        if len(sides) != 1:
            return body
        (body,) = sides


@dataclass(frozen=True, slots=True)
class _Write:
    """`in_branch`: only on some ways; `moves`: to a part that is computed; `covers`: together with
    its loops the whole tile, on every way."""

    in_branch: bool
    moves: bool
    covers: bool


@dataclass(frozen=True, slots=True)
class _TileWrites:
    """The writes of one tile in the body of a kernel."""

    body: Body
    tile: Buffer

    def of(self, body: Body, in_branch: bool, loops: tuple[For, ...] = ()) -> Iterator[_Write]:
        """The writes of a part of the body, in these loops, which all run."""
        for stmt in body:
            if self.tile not in written_buffers((stmt,)):
                continue
            match stmt:
                case For() if not is_parallel(stmt):
                    surely = surely_runs(stmt, {})
                    yield from self.of(stmt.body, in_branch, (*loops, stmt) if surely else ())
                case If():
                    for side in bodies(stmt):
                        yield from self.of(side, True)
                case Section():
                    yield from self.of(stmt.body, in_branch, loops)
                case _ if bodies(stmt) and not is_parallel(stmt):
                    for inner in bodies(stmt):
                        yield from self.of(inner, in_branch)
                case _:
                    yield self._write(stmt, in_branch, loops)

    def _write(self, stmt: Stmt, in_branch: bool, loops: tuple[For, ...]) -> _Write:
        regions = [*_stored(stmt, self.tile)]
        if isinstance(stmt, Op):
            regions = [r for r, a in accesses(stmt) if a.writes and r.buffer is self.tile]
        moves = any(constant_value(s.offset) is None for r in regions for s in r.dims)
        covers = not in_branch and (
            any(_fills(r, loops) for r in regions)
            or (isinstance(stmt, For) and moves and stores_all(stmt, self.tile, self.body))
        )
        return _Write(in_branch, moves, covers)


def _stored(stmt: Stmt, tile: Buffer) -> Iterator[Region]:
    """The regions of a tile that a nest of parallel loops stores, or a single statement; of a
    branch inside only places."""
    around = {s.var: s for s in walk((stmt,)) if isinstance(s, For) and is_constant(s.start, 0)}
    in_branches = {id(s) for b in walk((stmt,)) if isinstance(b, If) for s in walk((b,))}
    for store in walk((stmt,)):
        if isinstance(store, Store) and store.buffer is tile:
            counted = {} if id(store) in in_branches else around
            yield Region(tile, tuple(_side(i, counted) for i in store.indices))


def _side(index: Expr, counted: Mapping[Var, For]) -> Slice:
    own = [var for var in counted if var in walk_expr(index)]
    start = simplify(index - own[0]) if len(own) == 1 else index
    if len(own) != 1 or own[0] in walk_expr(start):
        return Slice(index, Const(1))
    return Slice(start, counted[own[0]].stop)


def _fills(region: Region, loops: Iterable[For]) -> bool:
    """Whether the loops go through all parts of the tile of this size."""
    shape = region.buffer.static_shape()
    if shape is None:
        return False
    counted = {loop.var: loop for loop in loops}
    for part, size in zip(region.dims, shape, strict=True):
        extent = constant_value(part.extent)
        if extent is None:
            return False
        if extent == size and is_constant(part.offset, 0):
            continue
        loop = next((v for v in counted if part.offset in (v, v * extent)), None)
        if loop is None:
            return False
        found = counted[loop]
        stop = constant_value(found.stop)
        if not is_constant(found.start, 0) or stop is None or stop * extent < size:
            return False
    return True


def _is_read_whole(body: Body, tile: Buffer) -> bool:
    """Whether a statement reads all of the tile."""
    for stmt in walk(body):
        if isinstance(stmt, Op):
            if any(a.reads and r.buffer is tile and r.is_whole() for r, a in accesses(stmt)):
                return True
        elif is_parallel(stmt) and isinstance(stmt, For) and _loads_all(stmt, tile):
            return True
    return False


def _loads_all(nest: For, tile: Buffer) -> bool:
    extents: dict[Var, int | None] = {}
    for loop in walk((nest,)):
        if isinstance(loop, For) and is_constant(loop.start, 0):
            extents[loop.var] = constant_value(loop.stop)
    shape = tile.static_shape() or ()

    def whole(load: Load) -> bool:
        used = [i for i in load.indices if isinstance(i, Var)]
        return len(set(used)) == len(used) and all(
            (isinstance(i, Var) and extents.get(i) == n) or (n == 1 and is_constant(i, 0))
            for i, n in zip(load.indices, shape, strict=True)
        )

    return any(load.buffer is tile and whole(load) for s in walk((nest,)) for load in loads(s))
