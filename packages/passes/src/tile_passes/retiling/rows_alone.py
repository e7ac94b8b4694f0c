"""Find the dimensions that go along with a dimension of a tile inside of a run of statements, where
the rows of that dimension are independent. Then the run may be done for some of them at a time.

It is an analysis as for blocks that become one (`block_axis`), the other way round. Places along
the dimension may be computed with, as each row keeps its number; but values that all rows need must
be there for the first of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field

from tile_ir import (
    Body,
    Break,
    Buffer,
    Const,
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
    Var,
    While,
    accesses,
    bodies,
    buffers_of,
    children,
    constant_value,
    expressions,
    is_constant,
    linear_form,
    simplify,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.liveness import carried_by_loops
from tile_passes.lanes.places import Names, resolved, with_name
from tile_passes.retiling.block_axis import Against, Dim, fixed_buffers

ITERATIONS = (LoopKind.PARALLEL, LoopKind.SERIAL, LoopKind.UNROLL)


class NeededWhole(Against):
    """A buffer that some statement needs whole."""

    def __init__(self, buffer: Buffer, reason: str) -> None:
        super().__init__(reason)
        self.buffer = buffer


@dataclass(slots=True)
class RowsAlone:
    """`size` rows in the dimensions `dims` of tiles, in the iterations of `loops` and in the slices
    of tensors, each given by an operation, an operand and a dimension. `own` are the buffers that
    only the run uses."""

    run: Body
    size: int
    own: frozenset[Buffer]
    dims: set[Dim] = field(default_factory=set)
    loops: set[For] = field(default_factory=set)
    slices: set[tuple[Op, int, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _RowPlace:
    """Where rows lie in a tensor: the dimension, and the place of the first of them. `around` are
    the loops of the run in which that is; `loaded` says that a value from memory decides it."""

    dim: int
    first: Expr
    around: tuple[For, ...]
    loaded: bool


@dataclass(frozen=True, slots=True)
class _Walk:
    names: Names
    loops: tuple[For, ...] = ()
    unknown: frozenset[Var] = frozenset()
    repeated: bool = False


def rows_alone(func: Func, run: Body, buffer: Buffer, dim: int) -> RowsAlone:
    """Everything that goes along with a dimension of a buffer. Raises Against."""
    size = constant_value(buffer.shape[dim])
    if not isinstance(size, int) or size < 2:
        raise Against("it has no two rows")
    fixed = fixed_buffers(func)
    if buffer in fixed:
        raise Against("it has another name, or lies where the author put it")
    static = [a for a in func.launch.allocs if a.buffer.static_shape() is not None]
    loops = {stmt for stmt in walk(func.launch.body) if isinstance(stmt, For)}
    kept = carried_by_loops(static, func.launch.body, loops)
    own = _own(func, run, kept)
    whole: set[Buffer | None] = {*fixed}
    while True:
        found = RowsAlone(run, size, own, {(buffer, dim)})
        reader = _RowReader(found, kept, frozenset(whole))
        try:
            known = -1
            while known != (known := len(found.dims) + len(found.loops)):
                reader.places.clear()
                found.slices.clear()
                reader.body(run, _Walk({}))
        except NeededWhole as reason:
            if reason.buffer == buffer or reason.buffer in whole:
                raise
            whole.add(reason.buffer)
            continue
        _check_places(reader.places, reader.stored, size)
        return found


def _own(func: Func, run: Body, kept: Mapping[For, set[Buffer]]) -> frozenset[Buffer]:
    """The buffers that only a run uses, each time anew."""
    ours = set(walk(run))
    inside = {b for s in ours for b in buffers_of(s)}
    for stmt in walk(func.launch.body):
        if stmt in ours:
            continue
        inside -= buffers_of(stmt)
        if isinstance(stmt, (For, While)) and not ours.isdisjoint(walk(stmt.body)):
            inside -= kept[stmt] if isinstance(stmt, For) else inside
    return frozenset(inside)


def _check_places(
    places: Mapping[Buffer, Sequence[_RowPlace | None]], stored: set[Buffer], size: int
) -> None:
    """Require that rows that meet in a tensor are the same rows of the run, or have no writer."""
    for buffer in stored:
        found = places[buffer]
        first = found[0]
        if first is None or any(p is None for p in found):
            raise Against(f"`{buffer.name}` is stored to, and used in another way too")
        if any(p is not None and (p.dim, p.first) != (first.dim, first.first) for p in found):
            raise Against(f"`{buffer.name}` is used at several places")
        if any(p is not None and not _same_always(p, size, len(found) == 1) for p in found):
            raise Against(
                f"`{buffer.name}` is used at places that differ from iteration to iteration"
            )


def _same_always(place: _RowPlace, size: int, alone: bool) -> bool:
    """Whether rows of a tensor are those of one iteration, or of iterations that never meet."""
    if not place.around:
        return alone or not any(isinstance(part, Load) for part in walk_expr(place.first))
    terms, _ = linear_form(place.first)
    changing = {loop.var for loop in place.around}
    odd = [a for a in terms if not _same_in(a, changing)]
    if not odd:
        return not place.loaded
    (atom, *more) = odd
    return alone and not more and isinstance(atom, Var) and terms[atom] % size == 0


def _same_in(atom: Expr, changing: set[Var]) -> bool:
    return not any(isinstance(p, Load) or p in changing for p in walk_expr(atom))


@dataclass(slots=True)
class _RowReader:
    found: RowsAlone
    kept: Mapping[For, set[Buffer]]
    whole: frozenset[Buffer | None]
    places: dict[Buffer, list[_RowPlace | None]] = field(default_factory=lambda: defaultdict(list))
    stored: set[Buffer] = field(default_factory=set)

    def body(self, body: Body, seen: _Walk) -> None:
        for stmt in body:
            self.stmt(stmt, seen)
            if isinstance(stmt, Let):
                names = with_name(seen.names, stmt)
                unknown = seen.unknown if stmt.var in names else seen.unknown | {stmt.var}
                seen = replace(seen, names=names, unknown=unknown)

    def stmt(self, stmt: Stmt, seen: _Walk) -> None:
        if isinstance(stmt, Op):
            self.op(stmt, seen)
            return
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                self.value(value, seen)
                self.element(buffer, indices, seen, True)
            case For(start=start, stop=stop, body=body):
                self.value(start, seen)
                self.value(stop, seen)
                self.body(body, replace(seen, loops=(*seen.loops, stmt)))
                return
            case While(condition=condition):
                self.value(condition, seen)
                seen = replace(seen, repeated=True)
            case If(condition=condition):
                self.value(condition, seen)
            case Let(value=value):
                self.value(value, seen)
            case Break() if self.joined(seen) is not None:
                raise Against("a break leaves a loop over rows")
        for inner in bodies(stmt):
            self.body(inner, seen)

    def joined(self, seen: _Walk) -> For | None:
        """The loop around a statement whose iterations are the rows."""
        found = [loop for loop in seen.loops if loop in self.found.loops]
        if len(found) > 1:
            raise Against("rows meet all other rows in two loops")
        return found[0] if found else None

    # Elements ------------------------------------------------------------------------------------

    def value(self, expr: Expr, seen: _Walk) -> None:
        if isinstance(expr, Load):
            for index in expr.indices:
                self.value(index, seen)
            self.element(expr.buffer, expr.indices, seen, False)
            return
        for part in children(expr):
            self.value(part, seen)

    def element(self, buffer: Buffer, indices: tuple[Expr, ...], seen: _Walk, writes: bool) -> None:
        whole = tuple(Slice(index, Const(1)) for index in indices)
        if buffer.memory is Memory.GM:
            self.in_tensor(buffer, whole, None, seen, writes)
        elif not self.rows_of(buffer, whole, seen) and writes:
            self.written_whole(buffer, seen)

    def rows_of(self, buffer: Buffer, dims: Sequence[Slice], seen: _Walk) -> bool:
        """Whether a place in a tile is one of the iteration's own row."""
        along = False
        for number, s in enumerate(dims):
            loop = self.iteration_of(s, seen)
            if (buffer, number) in self.found.dims:
                others = self.found.loops.intersection(seen.loops) - {loop}
                if loop is None or others:
                    raise NeededWhole(buffer, f"single places of `{buffer.name}` are used")
                self.found.loops.add(loop)
                along = True
            elif loop in self.found.loops and self.fits(buffer, number):
                self.found.dims.add((buffer, number))
                along = True
        return along

    def iteration_of(self, s: Slice, seen: _Walk) -> For | None:
        """The loop over all rows whose iteration a place is."""
        if not is_constant(s.extent, 1):
            return None
        place = resolved(s.offset, seen.names)
        for loop in seen.loops:
            if loop.var == place and loop.kind in ITERATIONS and is_constant(loop.start, 0):
                return loop if is_constant(loop.stop, self.found.size) else None
        return None

    def fits(self, buffer: Buffer, dim: int) -> bool:
        if buffer in self.whole or any(b == buffer for b, _ in self.found.dims):
            return False
        return constant_value(buffer.shape[dim]) == self.found.size

    def written_whole(self, buffer: Buffer, seen: _Walk) -> None:
        """A value that has no rows, written in the run."""
        if buffer not in self.found.own:
            raise Against(f"`{buffer.name}` is used elsewhere too")
        loop = self.joined(seen)
        if loop is not None and buffer in self.kept.get(loop, ()):
            raise Against(f"`{buffer.name}` keeps its value from row to row")

    def in_tensor(
        self,
        buffer: Buffer,
        dims: Sequence[Slice],
        own: int | None,
        seen: _Walk,
        writes: bool,
    ) -> None:
        """A part of a tensor; `own` is the dimension in which its rows are those of the run."""
        place = None if seen.repeated else self.place(dims, own, seen)
        if writes:
            self.stored.add(buffer)
            if place is None:
                raise Against(f"`{buffer.name}` is stored to in each part")
        self.places[buffer].append(place)

    def place(self, dims: Sequence[Slice], own: int | None, seen: _Walk) -> _RowPlace | None:
        """Where the rows lie in a tensor, if they follow each other there."""
        loop = self.joined(seen)
        around = tuple(x for x in seen.loops if x not in self.found.loops)
        if own is not None and loop is not None:
            raise Against("rows stand in a loop over rows")
        for number, s in enumerate(dims):
            first = resolved(s.offset, seen.names)
            if loop is not None:
                terms, _ = linear_form(first)
                first = simplify(first - loop.var)
                ours = terms.get(loop.var, 0) == 1 and is_constant(s.extent, 1)
                ours = ours and loop.var not in set(walk_expr(first))
            else:
                ours = number == own and s.stride == 1
            if ours:
                loaded = any(p in seen.unknown for p in walk_expr(first))
                return _RowPlace(number, first, around, loaded)
        return None

    # Operations ----------------------------------------------------------------------------------

    def op(self, op: Op, seen: _Walk) -> None:
        if op.opdef.effect is not Effect.DATA:
            raise Against(f"{op.opdef.called} is done once")
        for expr in expressions(op):
            self.value(expr, seen)
        marks: dict[int, int] = {}
        iterations: set[int] = set()
        for number, region in enumerate(op.operands):
            if not isinstance(region, Region) or region.memory is Memory.GM:
                continue
            dim = next((d for b, d in self.found.dims if b == region.buffer), None)
            if dim is not None and self.is_whole(region.dims[dim]):
                marks[number] = dim
            elif (dim is not None or self.joined(seen)) and self.rows_of(
                region.buffer, region.dims, seen
            ):
                iterations.add(number)
            elif dim is not None:
                raise NeededWhole(region.buffer, f"a part of `{region.buffer.name}` is used")
        if marks and self.joined(seen) is not None:
            raise Against(f"{op.opdef.called} stands in a loop over rows")
        self.others(op, marks, iterations, seen)

    def others(self, op: Op, marks: Mapping[int, int], iterations: set[int], seen: _Walk) -> None:
        """Mark the operands that go along in an operation, some dimensions of which do."""
        together = self.together(op, marks) if marks else {}
        written = {r for r, access in accesses(op) if access.writes}
        for number, region in enumerate(op.operands):
            if not isinstance(region, Region) or number in iterations:
                continue
            writes = region in written
            if writes and marks and number not in together:
                raise Against(f"{op.opdef.called} puts rows together")
            self.operand(op, number, region, together.get(number), writes, seen)

    def operand(
        self,
        op: Op,
        number: int,
        region: Region,
        dim: int | None,
        writes: bool,
        seen: _Walk,
    ) -> None:
        buffer = region.buffer
        if region.memory is Memory.GM:
            if dim is not None:
                if not is_constant(region.dims[dim].extent, self.found.size):
                    raise Against(f"a tile of `{buffer.name}` has another number of rows")
                self.found.slices.add((op, number, dim))
            self.in_tensor(buffer, region.dims, dim, seen, writes)
        elif dim is not None:
            if (buffer, dim) not in self.found.dims:
                if not self.fits(buffer, dim) or not self.is_whole(region.dims[dim]):
                    raise Against(f"{op.opdef.called} uses `{buffer.name}` in another way")
                self.found.dims.add((buffer, dim))
        elif writes:
            self.written_whole(buffer, seen)

    def is_whole(self, s: Slice) -> bool:
        return is_constant(s.offset, 0) and is_constant(s.extent, self.found.size) and s.stride == 1

    def together(self, op: Op, marks: Mapping[int, int]) -> dict[int, int]:
        """The dimension of each operand that goes along with those marked."""
        axes = op.opdef.axes
        if axes is None:
            raise NeededWhole(self.first(op, marks), f"{op.opdef.called} needs its tiles whole")
        labels = axes(op)
        found = {(labels[n] or ())[d] if labels[n] else None for n, d in marks.items()}
        if len(found) != 1 or None in found:
            raise NeededWhole(self.first(op, marks), f"{op.opdef.called} needs its tiles whole")
        (label,) = found
        return {n: own.index(label) for n, own in enumerate(labels) if own and label in own}

    def first(self, op: Op, marks: Mapping[int, int]) -> Buffer:
        region = op.operands[next(iter(marks))]
        assert isinstance(region, Region), "marks are of regions"
        return region.buffer
