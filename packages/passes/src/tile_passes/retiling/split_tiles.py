"""Tiles that have no room: the statements that use them, done for some of the rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tile_ir import (
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Diagnostic,
    Expr,
    For,
    Func,
    Let,
    Load,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    bodies,
    buffer_bytes,
    buffers_of,
    check_op,
    clamped_dims,
    constant_value,
    map_own_expressions,
    rebuild,
    simplify,
    walk,
    with_bodies,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.memory_use import memory_bound
from tile_passes.free_names import FreeNames
from tile_passes.lanes.places import Names, resolved, with_name
from tile_passes.retiling.block_axis import Against
from tile_passes.retiling.rows_alone import RowsAlone, rows_alone

# The most parts that a tile is done in, the largest tiles that are looked at, and how many ways to
# do so are compiled before there is said to be none.
MOST_SPLITS = 64
MOST_TILES = 4
MOST_TRIALS = 8


def splits(func: Func, target: Target) -> Iterator[Func]:
    """Ways to do a kernel whose tiles have no room, the least changed first."""
    if Automatic.TILES not in func.automatic:
        return
    seen: list[RowsAlone] = []
    trials = 0
    for alloc in _largest(func, target):
        for run in _runs(func, alloc.buffer):
            for dim in range(alloc.buffer.rank):
                try:
                    rows = rows_alone(func, run, alloc.buffer, dim)
                except Against:
                    continue
                if any(rows.dims == other.dims and run == other.run for other in seen):
                    continue
                seen.append(rows)
                for found in _parts(func, rows, alloc, target):
                    yield found
                    trials += 1
                    if trials >= MOST_TRIALS:
                        return


def _largest(func: Func, target: Target) -> list[Alloc]:
    allocs = [
        a for a in func.launch.allocs
        if a.buffer.memory in target.capacity and a.buffer.static_shape() is not None
    ]  # fmt: skip
    return sorted(allocs, key=lambda a: -buffer_bytes(a))[:MOST_TILES]


def _runs(func: Func, buffer: Buffer) -> Iterator[Body]:
    """The whole kernel, and the shortest runs of statements that have all uses of a buffer."""
    body = func.launch.body
    yield body
    while True:
        used = [n for n, s in enumerate(body) if buffer in _touched(s)]
        if not used:
            return
        run = body[used[0] : used[-1] + 1]
        if run != func.launch.body:
            yield run
        inner = [b for s in run for b in bodies(s) if any(buffer in _touched(x) for x in b)]
        if len(run) > 1 or len(inner) != 1:
            return
        (body,) = inner


def _touched(stmt: Stmt) -> set[Buffer]:
    return {b for s in walk((stmt,)) for b in buffers_of(s)}


def _parts(func: Func, rows: RowsAlone, alloc: Alloc, target: Target) -> Iterator[Func]:
    """The rows in two parts and more, as long as that may have room."""
    room = _room(func, target)
    for parts in range(2, min(rows.size // 2, MOST_SPLITS) + 1):
        if rows.size % parts or buffer_bytes(alloc) > parts * room[alloc.buffer.memory]:
            continue
        try:
            new = in_parts(func, rows, parts, target)
        except Against:
            continue
        if not has_no_room(new, target):
            yield replace(new, remarks=(*new.remarks, _remark(rows, parts, alloc)))


def has_no_room(func: Func, target: Target) -> bool:
    """Whether tiles are certain to have no room, however they share it."""
    room = _room(func, target)
    return any(size > room[memory] for memory, size in memory_bound(func, target).items())


def _room(func: Func, target: Target) -> dict[Memory, int]:
    """Bytes of each memory; two lanes may share the rows of a tile in ub."""
    lanes = 2 if func.launch.threads == 2 else 1
    return {m: n * (lanes if m is Memory.UB else 1) for m, n in target.capacity.items()}


def _remark(rows: RowsAlone, parts: int, alloc: Alloc) -> Diagnostic:
    name = alloc.buffer.name
    return Diagnostic(
        "tile-in-parts",
        f"`{name}` has no room as a whole: {rows.size // parts} of its {rows.size} rows are done "
        "at a time",
        alloc.loc,
        "tiles that have room as a whole are loaded once",
        "warning",
    )


def in_parts(func: Func, rows: RowsAlone, parts: int, target: Target) -> Func:
    """The function that does a run in so many parts. Raises Against."""
    names = FreeNames.of(func)
    count = rows.size // parts
    part = Var(names.fresh("part"), func.launch.block.dtype)
    buffers = {b: b for b, _ in rows.dims}
    for buffer, dim in rows.dims:
        if buffer in rows.own:
            shape = buffer.shape
            buffers[buffer] = replace(buffer, shape=(*shape[:dim], Const(count), *shape[dim + 1 :]))
    allocs = tuple(replace(a, buffer=buffers.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    body = _SplitWriter(rows, part, count, buffers, target).body(rows.run, {})
    if rows.run is func.launch.body:
        launch = func.launch
        tiles = Var(names.fresh("tiles"), launch.block.dtype)
        head = (
            Let(launch.block, tiles // parts, launch.loc),
            Let(part, tiles % parts, launch.loc),
        )
        blocks = simplify(launch.blocks * parts)
        return func.with_body((*head, *body), allocs=allocs, blocks=blocks, block=tiles)
    loop = For(part, Const(0), Const(parts), LoopKind.SERIAL, body, rows.run[0].loc)
    return func.with_body(_with_run(func.launch.body, rows.run, loop), allocs=allocs)


def _with_run(body: Body, run: Body, loop: For) -> Body:
    """The statements with a loop in place of a run."""
    if run[0] in body:
        at = body.index(run[0])
        return (*body[:at], loop, *body[at + len(run) :])
    return tuple(with_bodies(s, tuple(_with_run(b, run, loop) for b in bodies(s))) for s in body)


@dataclass(frozen=True, slots=True)
class _SplitWriter:
    rows: RowsAlone
    part: Var
    count: int
    buffers: Mapping[Buffer, Buffer]
    target: Target

    def body(self, body: Body, names: Names) -> Body:
        result: list[Stmt] = []
        for stmt in body:
            result.append(self.stmt(stmt, names))
            if isinstance(stmt, Let):
                names = with_name(names, stmt)
        return tuple(result)

    def stmt(self, stmt: Stmt, names: Names) -> Stmt:
        match stmt:
            case Op():
                return self.op(stmt, names)
            case Store(buffer=buffer, indices=indices, value=value):
                new = self.element(buffer, indices, names)
                return Store(new.buffer, new.indices, self.expr(value, names), stmt.loc)
            case For() if stmt in self.rows.loops:
                inner = replace(stmt, stop=Const(self.count))
                return replace(inner, body=self.body(stmt.body, names))
        changed = map_own_expressions(stmt, partial(self.expr, names=names))
        return with_bodies(changed, tuple(self.body(b, names) for b in bodies(stmt)))

    @property
    def first(self) -> Expr:
        return self.part * self.count

    def expr(self, expr: Expr, names: Names) -> Expr:
        """An expression in which iterations over rows have the numbers that they had."""
        match expr:
            case Var() if any(loop.var == expr for loop in self.rows.loops):
                return self.first + expr
            case Load(buffer=buffer, indices=indices):
                return self.element(buffer, indices, names)
        return rebuild(expr, partial(self.expr, names=names))

    def element(self, buffer: Buffer, indices: tuple[Expr, ...], names: Names) -> Load:
        new = tuple(
            self.row(resolved(index, names), buffer)
            if (buffer, n) in self.rows.dims
            else self.expr(index, names)
            for n, index in enumerate(indices)
        )
        return Load(self.buffers.get(buffer, buffer), new)

    def row(self, number: Expr, buffer: Buffer) -> Expr:
        """A row of a tile by its number in the part: in the whole tile where others use that."""
        return number if buffer in self.rows.own else self.first + number

    def op(self, op: Op, names: Names) -> Op:
        expr: Callable[[Expr], Expr] = partial(self.expr, names=names)
        operands = tuple(
            self.region(op, n, o, names)
            if isinstance(o, Region)
            else (expr(o) if o is not None else None)
            for n, o in enumerate(op.operands)
        )
        new = Op(op.opdef, operands, op.attrs, op.loc)
        problem = check_op(new, self.target)
        if problem is not None:
            raise Against(f"some rows alone are not legal: {problem.message}")
        for before, after in zip(op.operands, operands, strict=True):
            if not isinstance(before, Region) or not isinstance(after, Region):
                continue
            if clamped_dims(before) != clamped_dims(after):
                raise Against("some rows alone are cut at other edges of the tensor")
        if op.opdef.axes is not None and op.opdef.axes(op) != op.opdef.axes(new):
            raise Against(f"{op.opdef.called} of some rows means another one")
        return new

    def region(self, op: Op, number: int, region: Region, names: Names) -> Region:
        dims: list[Slice] = []
        for n, s in enumerate(region.dims):
            if (region.buffer, n) in self.rows.dims:
                if constant_value(s.extent) == 1:
                    offset = self.row(resolved(s.offset, names), region.buffer)
                    dims.append(Slice(offset, s.extent, s.stride))
                else:
                    dims.append(Slice(self.row(Const(0), region.buffer), Const(self.count)))
            elif (op, number, n) in self.rows.slices:
                offset = self.expr(s.offset, names) + self.first * s.stride
                dims.append(Slice(simplify(offset), Const(self.count), s.stride))
            else:
                extent = self.expr(s.extent, names)
                dims.append(Slice(self.expr(s.offset, names), extent, s.stride))
        return Region(self.buffers.get(region.buffer, region.buffer), tuple(dims))
