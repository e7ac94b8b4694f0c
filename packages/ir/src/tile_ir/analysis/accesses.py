"""Compute the bytes a statement may touch, from its operands, element loads and stores.

The results are hulls, from the first to the last byte. `regions` decides whether two regions with
overlapping hulls are disjoint all the same. The order of accesses is the concern of the callers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache

from tile_ir.analysis.intervals import Ranges, interval
from tile_ir.expr import ONE, Const, Expr, constant_value
from tile_ir.layout.footprint import is_run, k0_elements, round_up, stored_matrix
from tile_ir.layout.geometry import BLOCK_BYTES, element_count, strides
from tile_ir.machine import Memory, Pipe
from tile_ir.nodes import Buffer, Op, Region, Slice, Stmt, Store
from tile_ir.opdef import Access, Effect, OperandDef, accesses, element_limit, pipe_of
from tile_ir.quick_dataclasses import dataclass
from tile_ir.scalars.affine import NO_VALUES, Values, linear_form, resolved, simplify
from tile_ir.traversal import loads

# printf names a buffer for its address only.
_TOUCHING = frozenset(
    {
        Effect.DATA, Effect.DUMP, Effect.CACHE, Effect.SIGNAL, Effect.AWAIT_SIGNAL, Effect.ENGINE,
        Effect.AWAIT_ENGINE,
    }
)  # fmt: skip
_DMA = (Pipe.MTE2, Pipe.MTE3)


@dataclass(frozen=True, slots=True)
class Touch:
    """Bytes [low, high) of an on-chip memory, by address, or of a gm tensor, from its start.

    The hull of the bytes that may be touched. An unknown end is infinite in gm, and an end of the
    buffer on chip. Bytes that are read and written are one touch that `writes`. Two `unordered`
    touches need no order: atomic additions, and operations that wait for each other by the unit
    flags of l0c. `region` is the text of it; an element is a region of extents one.
    """

    place: Memory | Buffer
    low: float
    high: float
    writes: bool
    unordered: bool
    region: Region

    def overlaps(self, other: Touch) -> bool:
        """Whether the two hulls have a byte in common."""
        return self.place is other.place and self.low < other.high and other.low < self.high

    def conflicts(self, other: Touch) -> bool:
        """Whether the two need an order if hulls that overlap do meet."""
        ordered = (self.writes or other.writes) and not (self.unordered and other.unordered)
        return ordered and self.overlaps(other)


def is_filled(op: Op, definition: OperandDef, region: Region) -> bool:
    """Whether an operation that writes the region of an operand writes all its elements."""
    if element_limit(op) is not None:
        return False
    used = op.opdef.uses(op) if op.opdef.uses is not None else {}
    name = definition.name
    return name not in used or simplify(used[name]) == simplify(element_count(region))


@dataclass(slots=True)
class Bounds:
    """Values and bounds of expressions at a place. `known` has the intervals of variables, and
    `values` the definitions to put in first. Results are kept for each expression."""

    known: Ranges
    values: Values
    _put_in: dict[Expr, Expr] = field(default_factory=dict)
    _spelled: dict[Expr, Expr] = field(default_factory=dict)
    _ends: dict[Expr, tuple[float, float]] = field(default_factory=dict)

    def put_in(self, expr: Expr) -> Expr:
        """With the values put in."""
        found = self._put_in.get(expr)
        if found is None:
            found = self._put_in[expr] = resolved(expr, self.values)
        return found

    def spelled(self, expr: Expr) -> Expr:
        """That in canonical form."""
        found = self._spelled.get(expr)
        if found is None:
            found = self._spelled[expr] = simplify(self.put_in(expr))
        return found

    def ends(self, expr: Expr) -> tuple[float, float]:
        """The least and the largest value."""
        if isinstance(expr, Const):
            return expr.value, expr.value
        found = self._ends.get(expr)
        if found is None:
            low, high, _ = interval(self.spelled(expr), self.known)
            found = self._ends[expr] = low, high
        return found


def touches(
    stmt: Stmt,
    addresses: Mapping[Buffer, int],
    known: Ranges,
    values: Values = NO_VALUES,
) -> tuple[Touch, ...]:
    """Return the bytes that the statement itself may touch, without the statements inside it.
    Element loads come first.

    `addresses` gives the first byte of every on-chip buffer, and `known` the intervals of
    variables. `values` has definitions to put in first: lets, and loop variables in terms of other
    ones, so that `k % 2` of k = 2 * t is a constant. Scalar variables (memory VAR) are left out.
    The DMA moves whole blocks of ub (docs/hardware/units.md#rows-of-ub); matrices of l1 and l0 are
    touched whole, or in whole columns of fractals (docs/hardware/units.md#fractals).
    """
    return touches_within(stmt, addresses, Bounds(known, values))


def touches_within(
    stmt: Stmt, addresses: Mapping[Buffer, int], bounds: Bounds
) -> tuple[Touch, ...]:
    """The same, where more statements stand at the place."""
    found = []
    for a in _accesses(stmt):
        span = a.span if a.span is not None else _span(a.region, a.whole_blocks, bounds)
        if span is None:
            continue
        buffer = a.region.buffer
        if buffer.memory is Memory.GM:
            found.append(Touch(buffer, span[0], span[1], a.writes, a.unordered, a.region))
        else:
            low, high = (addresses[buffer] + end for end in span)
            found.append(Touch(buffer.memory, low, high, a.writes, a.unordered, a.region))
    return tuple(found)


def widened(region: Region, pipe: Pipe) -> Region:
    """The region with the elements around it that an operation of the pipe touches too: whole
    blocks of ub, squares of l1, whole matrices of l0. It may end beyond the buffer."""
    buffer, dims = region.buffer, region.dims
    if buffer.memory is Memory.GM or not dims:
        return region
    whole = Region.whole(buffer).dims
    if buffer.memory is Memory.UB:
        if pipe not in _DMA:
            return region
        block = buffer.dtype.elements_in(BLOCK_BYTES)
        width = constant_value(buffer.shape[-1])
        if len(dims) > 1 and (width is None or width % block):
            return Region.whole(buffer)
        return Region(buffer, (*dims[:-1], _in_steps(dims[-1], block, whole[-1])))
    if buffer.memory is not Memory.L1 or len(dims) < 2:
        return Region(buffer, (*dims[:-2], *whole[-2:]))
    # The load to l1 writes just its rows, columns in the 32 bytes of a fractal row
    # (docs/hardware/units.md#transfers); loads from it read squares.
    square = max(16, k0_elements(buffer.dtype))
    rows, columns = (1, k0_elements(buffer.dtype)) if pipe is Pipe.MTE2 else (square, square)
    last = (_in_steps(dims[-2], rows, whole[-2]), _in_steps(dims[-1], columns, whole[-1]))
    return Region(buffer, (*dims[:-2], *last))


def _in_steps(s: Slice, step: int, whole: Slice) -> Slice:
    """The slice up to the end of its last step, if it begins with one."""
    if step == 1:
        return s
    extent, (terms, start) = constant_value(s.extent), linear_form(s.offset)
    if extent is None or s.stride != 1 or start % step or any(f % step for f in terms.values()):
        return whole
    return Slice(s.offset, Const(round_up(extent, step)))


@dataclass(frozen=True, slots=True)
class _Access:
    """One region a statement touches; `span` where it is the same in every execution."""

    region: Region
    writes: bool
    unordered: bool
    whole_blocks: bool
    span: tuple[float, float] | None


@lru_cache(maxsize=32768)
def _accesses(stmt: Stmt) -> tuple[_Access, ...]:
    """The accesses of a statement, kept for later calls: statements never change."""
    operation = isinstance(stmt, Op) and stmt.opdef.effect not in _TOUCHING
    return tuple(
        _access(region, access.writes, unordered, pipe in _DMA)
        for region, access, unordered, pipe in regions_of(stmt)
        if pipe is None or not operation
    )


def regions_of(stmt: Stmt) -> Iterator[tuple[Region, Access, bool, Pipe | None]]:
    """The regions that the statement itself reads and writes, without scalar variables. Each comes
    with its direction, whether it needs no order among its like, and its pipe. The pipe is None for
    elements, which the scalar unit accesses and which come first."""
    for load in loads(stmt):
        if load.buffer.memory is not Memory.VAR:
            yield element(load.buffer, load.indices), Access.READ, False, None
    match stmt:
        case Store(buffer=buffer, indices=indices) if buffer.memory is not Memory.VAR:
            yield element(buffer, indices), Access.WRITE, False, None
        case Op():
            pipe = pipe_of(stmt)
            for region, access in accesses(stmt):
                if region.memory is Memory.L0C:
                    yield region, access, stmt.opdef.unit_flags, pipe
                elif region.memory is not Memory.VAR:
                    waits = stmt.opdef.effect is Effect.AWAIT_SIGNAL
                    unordered = stmt.opdef.atomic and (access.writes or waits)
                    yield region, access, unordered, pipe


def element(buffer: Buffer, indices: tuple[Expr, ...]) -> Region:
    """One element as a region."""
    return Region(buffer, tuple(Slice(i, ONE) for i in indices))


def _access(region: Region, writes: bool, unordered: bool, blocks: bool) -> _Access:
    return _Access(region, writes, unordered, blocks, _fixed_span(region, blocks))


@lru_cache(maxsize=32768)
def _fixed_span(region: Region, blocks: bool) -> tuple[float, float] | None:
    """The span of a region that is the same in every execution; None for others."""
    fixed = all(isinstance(s.offset, Const) and isinstance(s.extent, Const) for s in region.dims)
    if not fixed or (region.memory is Memory.GM and region.buffer.static_shape() is None):
        return None
    return _span(region, blocks, Bounds({}, NO_VALUES))


def _span(region: Region, blocks: bool, bounds: Bounds) -> tuple[float, float] | None:
    """First byte and the one behind the last, from the start of the buffer; None for none."""
    boxes = []
    for s, dim in zip(region.dims, region.buffer.shape, strict=True):
        (first, last), (_, extent) = bounds.ends(s.offset), bounds.ends(s.extent)
        if extent <= 0:
            return None
        _, limit = bounds.ends(dim)
        # A region of a lowered function lies inside its buffer.
        low = max(0, first)
        high = min(limit - 1, last + (extent - 1) * s.stride)
        boxes.append((low, max(low, high)))
    buffer = region.buffer
    if buffer.memory is Memory.GM:
        return _gm_span(buffer, boxes, bounds)
    steps, bits, total = layout(buffer)
    if buffer.memory is Memory.UB:
        first = sum(box[0] * step for box, step in zip(boxes, steps, strict=True))
        last = sum(box[1] * step for box, step in zip(boxes, steps, strict=True))
        low, high = first * bits // 8, -(-(last + 1) * bits // 8)
        if blocks:
            low, high = low // BLOCK_BYTES * BLOCK_BYTES, -(-high // BLOCK_BYTES) * BLOCK_BYTES
        return low, min(high, total)
    return _matrix_span(buffer, boxes, steps, total)


@lru_cache(maxsize=4096)
def layout(buffer: Buffer) -> tuple[tuple[int, ...], int, int]:
    """Steps between elements of each dimension (between slots for leading dimensions of matrices,
    in bytes), the bits of an element, and the bytes the buffer has for itself."""
    shape = buffer.static_shape()
    assert shape is not None, f"{buffer.name} must have a static shape"
    if buffer.memory is Memory.UB:
        steps = [1]
        for d in reversed(shape[1:]):
            steps.insert(0, steps[0] * d)
        # No two buffers share a block.
        total = round_up(buffer.dtype.bytes_of(math.prod(shape)), BLOCK_BYTES)
        return tuple(steps[: len(shape)]), buffer.dtype.bits, total
    slots, (rows, columns) = stored_matrix(buffer)
    matrix = buffer.dtype.bytes_of(rows * columns)
    steps = [matrix]
    for d in reversed(shape[1:-2]):
        steps.insert(0, steps[0] * d)
    return tuple(steps), buffer.dtype.bits, slots * matrix


def _matrix_span(
    buffer: Buffer, boxes: list[tuple[float, float]], steps: tuple[int, ...], total: int
) -> tuple[float, float]:
    """Slots of whole matrices; of one matrix of l1 the columns of squares that are touched, which
    lie one after another."""
    matrix = steps[-1]
    slots = boxes[:-2]
    first = sum(box[0] * step for box, step in zip(slots, steps, strict=False))
    last = sum(box[1] * step for box, step in zip(slots, steps, strict=False))
    if buffer.memory is not Memory.L1 or is_run(buffer) or first != last or not boxes:
        return first, min(last + matrix, total)
    # Loads to l0 read squares of 16 columns, or 32 of bytes.
    square = max(16, k0_elements(buffer.dtype))
    columns = buffer.static_shape()
    assert columns is not None, "checked by whoever lays it out"
    strip = matrix // (round_up(columns[-1], square) // square)
    low, high = boxes[-1]
    return (
        first + low // square * strip,
        min(first + (high // square + 1) * strip, total),
    )


def _gm_span(
    buffer: Buffer, boxes: list[tuple[float, float]], bounds: Bounds
) -> tuple[float, float]:
    low = high = 0.0
    for box, step in zip(boxes, strides(buffer), strict=True):
        least, most = bounds.ends(step)
        low += _times(box[0], max(0, least))
        high += _times(box[1], most)
    return low * buffer.dtype.bits // 8, (high + 1) * buffer.dtype.bits / 8


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b
