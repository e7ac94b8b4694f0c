"""Steps of one statement: operations on tiles, each checked against the op table and the lowering
rules before it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from tile_ir import (
    BLOCK_BYTES,
    OPS,
    AttrValue,
    Buffer,
    Const,
    DType,
    Expr,
    For,
    KernelError,
    Load,
    Loc,
    Memory,
    Op,
    Operand,
    Region,
    Stmt,
    Store,
    Var,
    active_dims,
    binary,
    check_op,
    constant_value,
    element_offset,
    is_constant,
    linear_form,
    simplify,
    walk,
    walk_expr,
    walk_ops,
)
from tile_ir.analysis import Ranges, interval
from tile_passes.lowering.alignment import row_step
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.one_operation import lower_op
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.shared_values import SharedValues, references
from tile_passes.parallel.temporaries import Temporaries

# Longer than any buffer of ub.
LARGEST_EXTENT = BLOCK_BYTES * 8192
COPY_DEFAULTS: tuple[AttrValue, ...] = (False, False, None)


class TileSteps:
    """Collects steps. `dense` says that matrices between operations have no gaps between their
    rows; `conditions` must hold at run time for the steps to be legal. Elements that no operation
    reaches are carried by the scalar unit (`by_element`) or gathered (`by_gather`). Operations that
    move element by element are taken where all else fails (`slowly`). Elements outside of tensors
    are 0 (`zero_outside`), or a mistake. Both sides of a choice are computed for all elements
    (`by_masks`), or one of them for a part of these. Tiles `in_part` never hold values in all of
    their elements."""

    def __init__(
        self,
        store: Store,
        domain: Domain,
        known: Ranges,
        temporaries: Temporaries,
        trial: Builder,
        dense: bool,
        by_element: bool = False,
        by_gather: bool = False,
        slowly: bool = False,
        zero_outside: bool = False,
        by_masks: bool = False,
        in_part: Set[Buffer] = frozenset(),
    ) -> None:
        self.store, self.domain, self.known = store, domain, known
        self.temporaries, self.trial, self.dense = temporaries, trial, dense
        self.by_element, self.by_gather, self.slowly = by_element, by_gather, slowly
        self.zero_outside, self.by_masks, self.in_part = zero_outside, by_masks, in_part
        self.loc: Loc = store.loc
        self.steps: list[Stmt] = []
        self.conditions: list[Expr] = []
        self.shared = SharedValues(references(store.value))
        self.sizes = {v: self._bound(i) for i, v in enumerate(domain.vars)}

    def tile(self, dtype: DType, domain: Domain) -> Region:
        sizes = tuple(self.sizes[v] for v in domain.vars)
        return self.temporaries.take(dtype, domain.extents, sizes, self.dense, self.loc)

    def release(self, value: Operand) -> None:
        if isinstance(value, Region) and value.buffer not in self.shared.kept:
            self.temporaries.give_back(value.buffer)

    def emit_into(
        self,
        name: str,
        dtype: DType,
        domain: Domain,
        into: Region | None,
        *sources: Operand,
        attrs: tuple[AttrValue, ...] = (),
    ) -> Region:
        """The operation into `into`, or into a source that is a tile, or into a new tile."""
        out = into
        if out is None:
            own = self.temporaries.taken - self.shared.kept
            mine = (s for s in sources if isinstance(s, Region) and s.buffer in own)
            out = next((s for s in mine if s.dtype is dtype), None)
        fresh = self.tile(dtype, domain) if out is None else None
        out = fresh if out is None else out
        assert out is not None, "there is one by now"
        try:
            self.emit(name, out, *sources, attrs=attrs)
        except Unsuitable:
            self.release(fresh)
            raise
        for source in sources:
            if isinstance(source, Region) and source.buffer is not out.buffer:
                self.release(source)
        return out

    def emit(self, name: str, *operands: Operand, attrs: tuple[AttrValue, ...] = ()) -> None:
        """Append an operation that the hardware can do. Raises Unsuitable."""
        opdef = OPS[name]
        operands = (*operands, *(None for _ in opdef.operands[len(operands) :]))
        self.append(Op(opdef, operands, attrs, self.loc))

    def copy(self, src: Region, dst: Region) -> None:
        self.append(Op(OPS["copy"], (src, dst), COPY_DEFAULTS, self.loc))

    @contextmanager
    def aside(self) -> Iterator[list[Stmt]]:
        """Collect steps apart; what was cached inside is not there outside."""
        outer, self.steps = self.steps, []
        try:
            with self.shared.aside():
                yield self.steps
        finally:
            self.steps = outer

    def append(self, op: Op) -> None:
        problem = check_op(op, self.trial.target)
        if problem is not None:
            raise Unsuitable(problem.message)
        try:
            lowered = lower_op(op, self.known, self.trial)
        except KernelError as error:
            odd = error.slug == "operand-alignment"
            raise Unsuitable((odd and _told_of_gaps(op)) or error.message) from None
        if not self.slowly and any(isinstance(s, Store) for s in walk(lowered)):
            raise Unsuitable(f"{op.opdef.name} of `{_tile_of(op)}` goes element by element")
        rows = {s.var for s in walk(lowered) if isinstance(s, For)}
        for part in walk_ops(lowered):
            problem = check_op(part, self.trial.target)
            if problem is not None:
                raise Unsuitable(problem.message)
            for region in self.trial.regions(part) if rows else ():
                self.demand_whole_blocks(op, region, rows)
        for operand in () if op.opdef.inside_blocks else op.operands:
            if isinstance(operand, Region) and operand.memory is Memory.UB:
                self.demand_alignment(operand)
        self.steps.append(op)

    def demand_whole_blocks(self, op: Op, region: Region, rows: set[Var]) -> None:
        """Rows that the lowering walks over start at whole blocks."""
        unit = BLOCK_BYTES // region.dtype.size
        if region.memory is Memory.UB and any(row_step(region, row) % unit for row in rows):
            rows_of = f"rows of `{region.buffer.name}` start inside blocks of 32 bytes"
            raise Unsuitable(_told_of_gaps(op) or rows_of)

    def demand_alignment(self, region: Region) -> None:
        """Parts of an offset that are not surely whole blocks are tested at run time."""
        offset = element_offset(region)
        if constant_value(offset) is not None:
            return
        unit = BLOCK_BYTES // region.dtype.size
        terms, constant = linear_form(offset)
        odd = [(atom, f) for atom, f in terms.items() if f % unit]
        if not odd:
            return
        rest: Expr = Const(constant % unit)
        for atom, factor in odd:
            rest = rest + atom * factor
        condition = binary("==", binary("%", rest, unit), 0)
        surely = interval(rest, self.known).stride % unit == 0
        if not surely and condition not in self.conditions:
            self.conditions.append(condition)

    def _bound(self, position: int) -> int:
        """The most elements along one variable: its extent, or the room in what it walks over; a
        tensor that it may leave gives no room."""
        extent = self.domain.extents[position]
        size = constant_value(extent)
        if size is not None:
            return size
        var = self.domain.vars[position]
        rooms = [interval(extent, self.known).high]
        places = [(self.store.buffer, self.store.indices)]
        places += [
            (p.buffer, p.indices) for p in walk_expr(self.store.value) if isinstance(p, Load)
        ]
        for buffer, indices in places:
            if self.zero_outside and buffer.memory is Memory.GM:
                continue
            for index, room in zip(indices, buffer.shape, strict=True):
                limit = constant_value(room)
                if limit is not None and step_of(index, var):
                    rooms.append(limit)
        least = min(rooms)
        if least > LARGEST_EXTENT:
            raise Unsuitable(f"the extent of `{var.name}` has no bound known at compile time")
        return int(least)


def most_extents(domain: Domain, known: Ranges) -> tuple[int, ...]:
    """The extents of a domain, or how large they may get. Raises Unsuitable."""
    limits = [interval(e, known).high for e in domain.extents]
    for var, limit in zip(domain.vars, limits, strict=True):
        if limit > LARGEST_EXTENT:
            raise Unsuitable(f"the extent of `{var.name}` has no bound known at compile time")
    return tuple(int(limit) for limit in limits)


def check_inside(region: Region, zero_behind: bool = False) -> None:
    """Refuse a region that surely reaches outside its buffer: a loop reports the element. With
    `zero_behind`, elements behind its end are 0."""
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        if is_constant(s.offset, 0) and s.stride == 1 and s.extent == size:
            continue  # nearly always
        low = constant_value(simplify(s.offset))
        room = constant_value(simplify(size - s.offset - (s.extent - 1) * s.stride))
        if (low is not None and low < 0) or (room is not None and room <= 0 and not zero_behind):
            raise Unsuitable(f"it reaches outside `{region.buffer.name}`")


def _tile_of(op: Op) -> str:
    """The name of the tile that an operation is about."""
    named = (o for o in op.operands if isinstance(o, Region) and o.memory is Memory.UB)
    return next((r.buffer.name for r in named), op.opdef.name)


def _told_of_gaps(op: Op) -> str | None:
    """The reason if an operand has elements with gaps between them."""
    regions = (o for o in op.operands if isinstance(o, Region))
    apart = next((r for r in regions if _elements_lie_apart(r)), None)
    return None if apart is None else f"elements of `{apart.buffer.name}` lie apart"


def _elements_lie_apart(region: Region) -> bool:
    """Whether not even two elements of the region are neighbours in memory."""
    active = active_dims(region)
    if not active:
        return False
    last = active[-1]
    inner = region.buffer.shape[last + 1 :]
    return region.dims[last].stride != 1 or any(not is_constant(size, 1) for size in inner)
