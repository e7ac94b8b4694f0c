"""Find the dimensions of tiles and the parallel loops along a dimension of the grid: they
are longer where one block does the work of neighbours.

It is an analysis as for splitting rows over lanes. Dimensions that operations run along together
(`OpDef.axes`) belong together, and everything else that the place of a block decides is a reason
against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product

from tile_ir import (
    OPS,
    Access,
    Binary,
    Body,
    Break,
    Buffer,
    Effect,
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
    Target,
    Var,
    While,
    accesses,
    bodies,
    check_op,
    children,
    constant_value,
    expressions,
    is_constant,
    linear_form,
    resolved,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.retiling.longer_tiles import longer_region

Dim = tuple[Buffer, int]
# The dimensions of each operand that go along.
Marks = dict[int, int]


class Against(Exception):
    """Why blocks stay as they are; the text completes «because …»."""


@dataclass(slots=True)
class BlockAxis:
    """`size` is how long the dimensions `dims` of tiles and the loops are for one block, and the
    `slices` of tensors, each given by an operation, an operand and a dimension. `open_end` says
    that blocks beyond the last one would store nothing."""

    place: Var
    size: int = 0
    dims: set[Dim] = field(default_factory=set)
    loops: set[For] = field(default_factory=set)
    slices: set[tuple[Op, int, int]] = field(default_factory=set)
    open_end: bool = False


@dataclass(frozen=True, slots=True)
class _Seen:
    """The context of a statement: definitions of names, and parallel loops."""

    names: Mapping[Var, Expr]
    parallel: tuple[For, ...] = ()


def block_axis(func: Func, place: Var, target: Target) -> BlockAxis:
    """Everything that goes along with a place in the grid. Raises Against."""
    axis = BlockAxis(place)
    fixed = fixed_buffers(func)
    axis.size = _size_of(func, place)
    reader = _AxisReader(axis, target)
    known = -1
    while known != (known := len(axis.dims) + len(axis.loops)):
        reader.body(func.launch.body, _Seen({}))
    for buffer, _ in axis.dims:
        if buffer in fixed or buffer.static_shape() is None:
            raise Against(f"`{buffer.name}` lies where the author put it")
    return axis


def fixed_buffers(func: Func) -> frozenset[Buffer]:
    """The buffers that have another name, or an address of the author's."""
    allocs = func.launch.allocs
    named = {a.alias_of for a in allocs if a.alias_of is not None}
    return frozenset(named | {a.buffer for a in allocs if a.alias_of or a.address is not None})


def _size_of(func: Func, place: Var) -> int:
    """How far apart tiles of neighbours lie in the first tensor that says it."""
    found = [n for n in _steps(func.launch.body, place, {}) if n > 0]
    if not found:
        raise Against("no tensor is read or written along it")
    return found[0]


def _steps(body: Body, place: Var, names: Mapping[Var, Expr]) -> Iterator[int]:
    for stmt in body:
        if isinstance(stmt, Let) and stmt.var != place:
            names = {**names, stmt.var: stmt.value}
        for region, _ in accesses(stmt) if isinstance(stmt, Op) else ():
            if region.memory is Memory.GM:
                for s in region.dims:
                    yield _coefficient(resolved(s.offset, names), place) or 0
        for load in (e for x in expressions(stmt) for e in walk_expr(x) if isinstance(e, Load)):
            if load.buffer.memory is Memory.GM:
                for index in load.indices:
                    yield _coefficient(resolved(index, names), place) or 0
        for inner in bodies(stmt):
            yield from _steps(inner, place, names)


def _coefficient(expr: Expr, var: Var) -> int | None:
    """The coefficient of a variable in a sum; None where it is inside something else."""
    terms, _ = linear_form(expr)
    if any(atom != var and var in set(walk_expr(atom)) for atom in terms):
        return None
    return terms.get(var, 0)


@dataclass(frozen=True, slots=True)
class _AxisReader:
    axis: BlockAxis
    target: Target

    def body(self, body: Body, seen: _Seen) -> None:
        for stmt in body:
            self.stmt(stmt, seen)
            if isinstance(stmt, Let) and stmt.var != self.axis.place:
                seen = replace(seen, names={**seen.names, stmt.var: stmt.value})

    def stmt(self, stmt: Stmt, seen: _Seen) -> None:
        match stmt:
            case Op():
                self.op(stmt, seen)
            case Store(buffer=buffer, indices=indices, value=value):
                self.value(value, seen)
                along = self.element(buffer, indices, seen)
                if not along and (buffer.memory is Memory.GM or self.inside(seen)):
                    raise Against(f"`{buffer.name}` gets one value from each block")
            case For():
                self.loop(stmt, seen)
                return
            case While(condition=condition):
                if self.depends(condition, seen):
                    raise Against("a loop goes on as the place of the block says")
            case If(condition=condition):
                self.value(condition, seen)
            case Break() if self.inside(seen):
                raise Against("a break leaves a loop over elements")
        for inner in bodies(stmt):
            self.body(inner, seen)

    def inside(self, seen: _Seen) -> bool:
        return not self.axis.loops.isdisjoint(seen.parallel)

    def loop(self, loop: For, seen: _Seen) -> None:
        if self.depends(loop.start, seen) or self.depends(loop.stop, seen):
            raise Against("a loop is as long as the place of the block says")
        if loop.kind is LoopKind.PARALLEL:
            seen = replace(seen, parallel=(*seen.parallel, loop))
        elif loop in self.axis.loops or _copies_row(loop):
            self.row_by_row(loop, replace(seen, parallel=(*seen.parallel, loop)))
            return
        self.body(loop.body, seen)

    def row_by_row(self, loop: For, seen: _Seen) -> None:
        """A loop that copies each row of a tile from or to a place of its own."""
        for op in loop.body:
            assert isinstance(op, Op), "a copy of a row"
            for region in (op.region("dst"), op.region("src")):
                for dim, s in enumerate(region.dims):
                    if s.offset == loop.var and region.memory is not Memory.GM:
                        self.join(loop)
                        self.add(region.buffer, dim)
                    elif self.depends(s.extent, seen):
                        raise Against("the size of a tile depends on the block")
                    elif self.depends(s.offset, seen):
                        self.value(s.offset, seen)

    # Expressions ---------------------------------------------------------------------------------

    def depends(self, expr: Expr, seen: _Seen) -> bool:
        """Whether a value differs between the blocks, or between the iterations that go along: so
        does every element of a tile that goes along, also where its index is the same."""
        ours = {self.axis.place, *(loop.var for loop in self.axis.loops)}
        tiles = {buffer for buffer, _ in self.axis.dims}
        return any(
            part in ours or (isinstance(part, Load) and part.buffer in tiles)
            for part in walk_expr(resolved(expr, seen.names))
        )

    def value(self, expr: Expr, seen: _Seen) -> None:
        """A number is the same if it counts elements of the tensor: `place * size + i`."""
        expr = resolved(expr, seen.names)
        if not self.depends(expr, seen):
            return
        match expr:
            case Load(buffer=buffer, indices=indices):
                self.element(buffer, indices, seen)
            case Var() | Binary(op="+" | "-" | "*") if not expr.dtype.is_float:
                self.sum(expr, seen)
            case _:
                for part in children(expr):
                    self.value(part, seen)

    def sum(self, expr: Expr, seen: _Seen) -> None:
        """A sum has the place and an iteration along it in the relation of a position."""
        terms, _ = linear_form(expr)
        times = terms.get(self.axis.place, 0)
        size = self.axis.size
        along = [x for x in seen.parallel if times and terms.get(x.var, 0) * size == times]
        if times and len(along) != 1:
            raise Against("a value is computed from the place of the block")
        for loop in along:
            self.join(loop)
        counted = {self.axis.place, *(loop.var for loop in along)}
        for atom in terms:
            if atom in counted or not self.depends(atom, seen):
                continue
            if isinstance(atom, Var):
                raise Against("a value is computed from the place of an element in its tile")
            # A product of two values is an atom itself.
            for part in (atom,) if isinstance(atom, Load) else children(atom):
                self.value(part, seen)

    def join(self, loop: For) -> None:
        if not (is_constant(loop.start, 0) and is_constant(loop.stop, self.axis.size)):
            raise Against("a loop over elements has another length than the tile of the block")
        self.axis.loops.add(loop)

    def element(self, buffer: Buffer, indices: tuple[Expr, ...], seen: _Seen) -> bool:
        """An element that is read or written; whether it is another one in each iteration along."""
        along = False
        for number, index in enumerate(indices):
            index = resolved(index, seen.names)
            ours = (buffer, number) in self.axis.dims
            loop = next((x for x in seen.parallel if x.var == index), None)
            if buffer.memory is Memory.GM:
                if self.depends(index, seen):
                    self.value(index, seen)
                    along = True
            elif loop is not None and (ours or loop in self.axis.loops):
                self.join(loop)
                self.add(buffer, number)
                along = True
            elif ours or self.depends(index, seen):
                raise Against(f"single elements of `{buffer.name}` are used")
        return along

    # Operations ----------------------------------------------------------------------------------

    def op(self, op: Op, seen: _Seen) -> None:
        if op.opdef.effect is not Effect.DATA:
            raise Against(f"{op.opdef.called} is done once for each block")
        for operand in op.operands:
            if isinstance(operand, Expr) and self.depends(operand, seen):
                raise Against(f"{op.opdef.called} takes a value of the block")
        marks = self.marks(op, seen)
        stores = any(a.writes and r.memory is Memory.GM for r, a in accesses(op))
        if not marks:
            if stores:
                raise Against(f"{op.opdef.called} stores the same place from each block")
            return
        if self.inside(seen):
            raise Against(f"{op.opdef.called} stands in a loop over elements")
        for number, dim in self.together(op, marks).items():
            region = op.operands[number]
            assert isinstance(region, Region), "labels are of regions"
            if region.memory is Memory.GM:
                if marks.get(number) != dim:
                    raise Against(f"all blocks use the same part of `{region.buffer.name}`")
                continue
            self.add(region.buffer, dim)
            self.whole(op, region.dims[dim], region.buffer)
        if stores and not any(
            number in marks and a.writes and r.memory is Memory.GM for number, r, a in _accessed(op)
        ):
            raise Against(f"{op.opdef.called} stores the same place from each block")

    def marks(self, op: Op, seen: _Seen) -> Marks:
        """The dimension of each operand that is known to go along."""
        found: Marks = {}
        for number, region in enumerate(op.operands):
            if not isinstance(region, Region):
                continue
            for dim, s in enumerate(region.dims):
                if region.memory is Memory.GM:
                    ours = self.follows(s, region, seen)
                else:
                    ours = (region.buffer, dim) in self.axis.dims
                    if self.depends(s.offset, seen) or self.depends(s.extent, seen):
                        raise Against(f"a part of `{region.buffer.name}` follows the block")
                    if ours:
                        self.whole(op, s, region.buffer)
                if ours and number in found:
                    raise Against(f"`{region.buffer.name}` goes along in two dimensions")
                if ours:
                    found[number] = dim
                if ours and region.memory is Memory.GM:
                    self.axis.slices.add((op, number, dim))
        return found

    def follows(self, s: Slice, region: Region, seen: _Seen) -> bool:
        """Whether a slice of gm begins at the tile of the block and is as long as that."""
        if self.depends(s.extent, seen):
            raise Against("the size of a tile depends on the block")
        if not self.depends(s.offset, seen):
            return False
        times = _coefficient(resolved(s.offset, seen.names), self.axis.place)
        plain = times == self.axis.size and is_constant(s.extent, times) and s.stride == 1
        if not plain or any(self.depends(loop.var, seen) for loop in seen.parallel):
            raise Against(f"tiles of `{region.buffer.name}` do not follow each other")
        return True

    def whole(self, op: Op, s: Slice, buffer: Buffer) -> None:
        all_of_it = is_constant(s.offset, 0) and is_constant(s.extent, self.axis.size)
        if not all_of_it or s.stride != 1:
            raise Against(f"{op.opdef.called} uses a part of `{buffer.name}`")

    def add(self, buffer: Buffer, dim: int) -> None:
        if constant_value(buffer.shape[dim]) != self.axis.size:
            raise Against(f"`{buffer.name}` is not as long as the tile of the block")
        self.axis.dims.add((buffer, dim))

    def together(self, op: Op, marks: Marks) -> Marks:
        """The dimension of each operand that goes along with those marked."""
        axes = op.opdef.axes
        if axes is None:
            raise Against(f"{op.opdef.called} has no dimensions that can be longer")
        for guess in self.guesses(op, marks):
            longer = _longer(op, guess, 2) if self.axis.size == 1 else op
            if longer is not op and check_op(longer, self.target) is not None:
                continue
            labels = axes(longer)
            found = {labels[n][d] if labels[n] else None for n, d in guess.items()}  # type: ignore[index]
            if len(found) != 1 or None in found:
                continue
            (label,) = found
            return {n: own.index(label) for n, own in enumerate(labels) if own and label in own}
        raise Against(f"{op.opdef.called} needs a tile of one block whole")

    def guesses(self, op: Op, marks: Marks) -> Iterator[Marks]:
        """Dimensions of one element have no label: which of them go along is tried out."""
        if self.axis.size > 1:
            yield marks
            return
        open_ = [
            (n, [d for d, s in enumerate(r.dims) if is_constant(s.extent, 1)])
            for n, r in enumerate(op.operands)
            if isinstance(r, Region) and n not in marks and r.memory is not Memory.GM
        ]
        for choice in product(*((*dims, None) for _, dims in open_)):
            more = {n: d for (n, _), d in zip(open_, choice, strict=True) if d is not None}
            yield {**marks, **more}


def _copies_row(loop: For) -> bool:
    """Whether a loop of one iteration copies a row of a tile, and nothing else."""
    if loop.kind is not LoopKind.SERIAL or not is_constant(loop.stop, 1):
        return False
    (stmt, *more) = loop.body
    return not more and isinstance(stmt, Op) and stmt.opdef is OPS["copy"]


def _accessed(op: Op) -> Iterator[tuple[int, Region, Access]]:
    known = list(accesses(op))
    for number, operand in enumerate(op.operands):
        for region, access in known:
            if region is operand:
                yield number, region, access


def _longer(op: Op, marks: Marks, times: int) -> Op:
    """The operation on regions so many times as long."""
    operands = list(op.operands)
    for number, dim in marks.items():
        region = operands[number]
        assert isinstance(region, Region), "marks are of regions"
        operands[number] = longer_region(region, dim, times, grow=region.memory is not Memory.GM)
    return Op(op.opdef, tuple(operands), op.attrs, op.loc)
