"""Give tiles that hold one row of a block a dimension for it, of one row: blocks that do several
rows each need somewhere to put them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set

from tile_ir import (
    BLOCK_BYTES,
    FLOAT16,
    FLOAT32,
    INT32,
    OPS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
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
    While,
    accesses,
    bodies,
    constant_value,
    expressions,
    is_constant,
    loads,
    map_own_expressions,
    map_region,
    resolved,
    substitute,
    walk,
    walk_expr,
    walk_ops,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_ir.expr import rebuild
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.nest_elements import nest_elements
from tile_passes.free_names import FreeNames
from tile_passes.lowering.alignment import with_padded_rows
from tile_passes.retiling.block_axis import Against, fixed_buffers

# Types of values of names that tiles keep.
KEPT = (FLOAT16, FLOAT32, INT32)
ZERO = Const(0)
ROW = Slice(ZERO, Const(1))


def with_single_rows(func: Func, place: Var) -> Func:
    """The function whose tiles have a first dimension of one row for what a block at a place of the
    grid does. Element code on them is in a loop over that row. Tiles of several rows stay: another
    dimension would make them boxes, which take more instructions. Raises Against."""
    tiles = _tiles_of(func, place)
    if not tiles:
        raise Against("no tile differs between the blocks")
    padded = _taken_by_rows(func.launch.body) if Automatic.PITCHES in func.automatic else ()
    fixed = fixed_buffers(func)
    new: dict[Buffer, Buffer] = {}
    for tile in tiles:
        if tile.memory not in (Memory.UB, Memory.VAR):
            raise Against(f"`{tile.name}` holds a value of the block outside of ub")
        if tile in fixed or tile.static_shape() is None:
            raise Against(f"`{tile.name}` lies where the author put it")
        if tile.rank > 1 and not is_constant(tile.shape[0], 1):
            raise Against(f"`{tile.name}` holds several rows of each block")
        if tile.rank < 2:
            row = replace(tile, shape=(Const(1), *tile.shape), memory=Memory.UB)
            new[tile] = (with_padded_rows(row) if tile in padded else None) or row
    _check_rows(func.launch.body, tiles, new)
    names = FreeNames.of(func)
    kept = {x.var: _tile_for(x, names) for x in _changed_later(func.launch.body, tiles)}
    rows = _Rows(place, tiles | {*kept.values()}, new, kept, names)
    body = rows.body(func.launch.body, {})
    launched = tuple(replace(a, buffer=new.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    own = tuple(Alloc(buffer, func.launch.loc) for buffer in kept.values())
    return func.with_body(body, allocs=(*launched, *own))


def _check_rows(body: Body, tiles: Set[Buffer], new: Mapping[Buffer, Buffer]) -> None:
    """Parts of rows of a tensor move row by row, each from or to a whole block of ub. Raises
    Against where tiles, which become new ones, have no such rows."""
    for op in walk_ops(body):
        regions = [o for o in op.operands if isinstance(o, Region)]
        if not any(_is_part_of_row(r) for r in regions):
            continue
        for tile in {r.buffer for r in regions} & tiles:
            row = new.get(tile, tile)
            columns = constant_value(row.shape[-1]) if row.shape else 1
            if columns is None or (columns > 1 and columns % tile.dtype.elements_in(BLOCK_BYTES)):
                raise Against(f"rows of `{tile.name}` would begin inside blocks")


def _taken_by_rows(body: Body) -> set[Buffer]:
    """The tiles whose rows operations or nests take as rows once there are several, in types in
    which these are no whole blocks; not those that only move whole, or are converted."""
    found = {e.buffer for _, all_ in nest_elements(body) for e in all_ if not e.fills_blocks}
    met: list[set[Buffer]] = []
    for op in walk_ops(body):
        regions = [o for o in op.operands if isinstance(o, Region)]
        tiles = {r.buffer for r in regions if with_padded_rows(r.buffer) is not None}
        sequence = op.opdef.elementwise or op.opdef is OPS["copy"]
        if not sequence or any(_is_part_of_row(r) for r in regions):
            found |= tiles
        met.append(tiles)
    known = -1
    while known != (known := len(found)):
        for tiles in met:
            found |= tiles if tiles & found else set()
    return found


def _is_part_of_row(region: Region) -> bool:
    return region.memory is Memory.GM and region.dims[-1].extent != region.buffer.shape[-1]


def _changed_later(body: Body, tiles: Set[Buffer]) -> Iterator[Let]:
    """The names of values of tiles that statements behind them change."""
    for number, stmt in enumerate(body):
        if isinstance(stmt, Let):
            loaded = {x.buffer for x in loads(stmt)} & tiles
            if loaded & written_buffers(body[number + 1 :]):
                yield stmt
        if not _is_of_elements(stmt):
            for inner in bodies(stmt):
                yield from _changed_later(inner, tiles)


def _tile_for(name: Let, names: FreeNames) -> Buffer:
    if name.var.dtype not in KEPT:
        raise Against("a value of a tile is used after the tile has changed")
    sizes = (Const(1), Const(1))
    return Buffer(names.fresh(name.var.name), Memory.UB, name.var.dtype, sizes, name.loc)


def _is_of_elements(stmt: Stmt) -> bool:
    """Whether a statement is a nest of T.Parallel, or a branch around stores to elements."""
    if isinstance(stmt, If):
        return all(isinstance(s, If | Let | Store) for s in walk((stmt,)))
    return isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL


def _tiles_of(func: Func, place: Var) -> frozenset[Buffer]:
    """The buffers on the chip that get values which differ between places."""
    on_chip = {a.buffer for a in func.launch.allocs}
    found: set[object] = {place}
    known = 0
    while known != (known := len(found)):
        for stmt in walk(func.launch.body):
            if isinstance(stmt, Let) and _mentions(stmt.value, found):
                found.add(stmt.var)
            elif _reads(stmt, found):
                found |= on_chip & written_buffers((stmt,))
    return frozenset(b for b in on_chip if b in found)


def _reads(stmt: Stmt, found: set[object]) -> bool:
    if isinstance(stmt, Op) and any(a.reads and r.buffer in found for r, a in accesses(stmt)):
        return True
    return any(_mentions(e, found) for e in expressions(stmt))


def _mentions(expr: Expr, found: Collection[object]) -> bool:
    return any(
        part in found or (isinstance(part, Load) and part.buffer in found)
        for part in walk_expr(expr)
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """`tiles` hold what differs between places, and `new` those of them that get a dimension; those
    of `kept` are for values of names."""

    place: Var
    tiles: frozenset[Buffer]
    new: Mapping[Buffer, Buffer]
    kept: Mapping[Var, Buffer]
    names: FreeNames

    def body(self, body: Body, known: Mapping[Var, Expr]) -> Body:
        """`known` are definitions of names around it. Those of values of tiles are put in where
        they are used."""
        found: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Let) and stmt.var in self.kept:
                tile, first = self.kept[stmt.var], (ZERO, ZERO)
                found.append(self.elements(Store(tile, first, stmt.value, stmt.loc), known))
                known = {**known, stmt.var: Load(tile, first)}
                continue
            if isinstance(stmt, Let) and stmt.var != self.place:
                # Other places stay names: where they are in the grid changes.
                if _mentions(resolved(stmt.value, known), {self.place, *self.tiles}):
                    known = {**known, stmt.var: stmt.value}
                if self.tiles & {x.buffer for x in loads(stmt)}:
                    continue
            found.append(self.stmt(stmt, known))
        return with_statements(body, found)

    def stmt(self, stmt: Stmt, known: Mapping[Var, Expr]) -> Stmt:
        match stmt:
            case For(kind=LoopKind.PARALLEL) | Store():
                return self.elements(stmt, known) if self.is_of_rows(stmt, known) else stmt
            case If(condition=condition) if _is_of_elements(stmt) and _mentions(
                resolved(condition, known), self.tiles
            ):
                return self.elements(stmt, known)
            case _ if any(_mentions(resolved(e, known), self.tiles) for e in expressions(stmt)):
                raise Against("single elements of a tile are used")
            case Op() if self.is_found(stmt, known):
                return self.row_by_row(stmt, known)
            case Op():
                return self.op(stmt)
        return with_bodies(stmt, tuple(self.body(b, known) for b in bodies(stmt)))

    def op(self, op: Op) -> Op:
        """Dimensions that an attribute counts from the front of a source are one more."""
        if not any(isinstance(o, Region) and o.buffer in self.new for o in op.operands):
            return op
        operands = tuple(self.region(o) if isinstance(o, Region) else o for o in op.operands)
        longer = any(
            d.name == "src" and isinstance(o, Region) and o.buffer in self.new
            for d, o in zip(op.opdef.operands, op.operands, strict=False)
        )
        attrs = tuple(
            value + 1
            if longer and d.name in ("dim", "axis") and isinstance(value, int) and value >= 0
            else value
            for d, value in zip(op.opdef.attrs, op.attrs, strict=True)
        )
        return Op(op.opdef, operands, attrs, op.loc)

    def region(self, region: Region) -> Region:
        if region.buffer not in self.new:
            return region
        return Region(self.new[region.buffer], (ROW, *region.dims))

    # Rows that stand anywhere ---------------------------------------------------------------------

    def is_found(self, op: Op, known: Mapping[Var, Expr]) -> bool:
        """Whether a copy is of a row whose number is a value of a tensor."""
        return op.opdef is OPS["copy"] and any(
            isinstance(part, Load) and _mentions(part, {self.place})
            for expr in expressions(op)
            for part in walk_expr(resolved(expr, known))
        )

    def row_by_row(self, op: Op, known: Mapping[Var, Expr]) -> Stmt:
        """The copy in a loop over its row: rows of neighbours do not follow each other."""
        row = Var(self.names.fresh("row"), self.place.dtype)
        found = {v: e for v in known if _mentions(e := resolved(known[v], known), {self.place})}
        inside = {self.place: self.place + row}
        operands: list[Expr | Region | None] = []
        for operand in op.operands:
            if not isinstance(operand, Region):
                raise Against("copy takes a value")
            if operand.buffer in self.tiles:
                rest = operand.dims if operand.buffer in self.new else operand.dims[1:]
                buffer = self.new.get(operand.buffer, operand.buffer)
                operands.append(Region(buffer, (Slice(row, Const(1)), *rest)))
            else:
                operands.append(
                    map_region(operand, lambda e: substitute(resolved(e, found), inside))
                )
        copied = Op(op.opdef, tuple(operands), op.attrs, op.loc)
        return For(row, ZERO, Const(1), LoopKind.SERIAL, (copied,), op.loc)

    # Elements ------------------------------------------------------------------------------------

    def is_of_rows(self, stmt: Stmt, known: Mapping[Var, Expr]) -> bool:
        found = {self.place, *self.tiles}
        return any(
            _mentions(resolved(e, known), found)
            or (isinstance(s, Store) and s.buffer in self.tiles)
            for s in walk((stmt,))
            for e in expressions(s)
        )

    def elements(self, stmt: Stmt, known: Mapping[Var, Expr]) -> Stmt:
        """The nest in a loop over its row; a loop of one iteration that it has is that."""
        loops = [s for s in walk((stmt,)) if isinstance(s, For)]
        own = next((x for x in loops if _is_of_one(x)), None)
        row = own.var if own is not None else Var(self.names.fresh("row"), self.place.dtype)
        found = {self.place, *self.tiles}
        named = {v: e for v in known if _mentions(e := resolved(known[v], known), found)}
        if own is None:
            named[self.place] = self.place + row
        (inside,) = self._mapped((stmt,), row, named)
        if own is not None:
            return inside
        return For(row, ZERO, Const(1), LoopKind.PARALLEL, (inside,), stmt.loc)

    def _mapped(self, body: Body, row: Var, named: Mapping[Var, Expr]) -> Body:
        def mapped(expr: Expr) -> Expr:
            match expr:
                case Load(buffer=buffer, indices=indices) if buffer in self.tiles:
                    return Load(*self._element(buffer, tuple(map(mapped, indices)), row))
                case Var() if expr == self.place:
                    return named.get(expr, expr)
                case Var():
                    return mapped(named[expr]) if expr in named else expr
                case Const():
                    return expr
            return rebuild(expr, mapped)

        found: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Op | While):
                raise Against("a loop over elements has operations")
            new = map_own_expressions(stmt, mapped)
            if isinstance(new, Store) and new.buffer in self.tiles:
                buffer, indices = self._element(new.buffer, new.indices, row)
                new = replace(new, buffer=buffer, indices=indices)
            found.append(with_bodies(new, tuple(self._mapped(b, row, named) for b in bodies(stmt))))
        return tuple(found)

    def _element(
        self, buffer: Buffer, indices: tuple[Expr, ...], row: Var
    ) -> tuple[Buffer, tuple[Expr, ...]]:
        if buffer in self.new:
            return self.new[buffer], (row, *(ZERO if i == row else i for i in indices))
        return buffer, (row, *indices[1:]) if is_constant(indices[0], 0) else indices


def _is_of_one(loop: For) -> bool:
    return is_constant(loop.start, 0) and is_constant(loop.stop, 1)
