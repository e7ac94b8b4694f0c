"""Estimate the cost of an operation on a chip, for passes and hints.

The estimate is the simulator's clock (docs/hardware/time_model.md) without a run: from the record
of the operation, its operands and the constants of `timing`. Facts that only a run has get a
default in `Assumed`; where the size of a region is unknown, the whole buffer counts. Not here: the
waits of operations, and conflicts of accesses to one bank.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tile_ir.costs.timing import DEFAULT_TIMING as TIMING
from tile_ir.dtypes import FLOAT32
from tile_ir.expr import constant_value
from tile_ir.layout.footprint import FRACTAL_ROWS, is_run, matrix_footprint, round_up
from tile_ir.layout.geometry import BLOCK_BYTES, REPEAT_BYTES, contiguous_suffix
from tile_ir.layout.row_form import row_form
from tile_ir.machine import Memory, Pipe
from tile_ir.nodes import Op, Region, Stmt, Store
from tile_ir.opdef import Effect, defined_operands, element_limit, overwriting, pipe_of
from tile_ir.ops.cube import matrix_sizes
from tile_ir.ops.movement import is_fractals
from tile_ir.ops.rules import largest_matrix
from tile_ir.quick_dataclasses import dataclass
from tile_ir.target import Target
from tile_ir.traversal import loads

# Families whose lanes come together in fewer.
_SUMS = ("reduce", "repeat_reduce")
# Requests to L2 have one of these sizes (docs/hardware/time_model.md#how-a-launch-is-replayed).
REQUEST_BYTES = (128, 256, 512)


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions for facts that only a run has: whether the bytes of gm lie in the L2 cache, and
    how many cores move bytes at a time. These cores share the chip's rates of L2 and HBM."""

    in_l2: bool = True
    cores: int = 1


class Cost(NamedTuple):
    """Core cycles: for which an operation keeps its pipe from the next one, and from its start
    until others may use its result. `entries` are the places that its instructions, and barriers
    between them, take in the queue of the pipe."""

    busy: float
    done: float
    entries: float = 1.0


ALONE = Assumed()


def cost(stmt: Stmt, target: Target, assumed: Assumed = ALONE) -> Cost:
    """The cost of one operation; of one that lowering takes apart, as if its pipe did it at once.
    Other statements cost the elements that the scalar unit reads and writes for them, without those
    of the statements inside. The constants are those of `timing`
    (docs/hardware/time_model.md#published-rates)."""
    if not isinstance(stmt, Op):
        touched = [e.buffer.memory for e in loads(stmt)]
        touched += [stmt.buffer.memory] if isinstance(stmt, Store) else []
        return _at_once(sum(_scalar_access(memory) for memory in touched))
    op = stmt
    if op.opdef.effect is not Effect.DATA:
        return _at_once(TIMING.scalar_flag)
    match pipe_of(op):
        case Pipe.V:
            busy, entries = _vector(op)
            latency = TIMING.sum_latency if op.opdef.family in _SUMS else TIMING.vector_latency
            return Cost(busy, busy + latency, entries)
        case Pipe.M:
            more = TIMING.cube_issue if overwriting(op) else TIMING.cube_addition
            busy = max(TIMING.cube_least, more + _fractals(op))
            return Cost(busy, busy + TIMING.cube_latency)
        case Pipe.MTE1:
            return _load(op.region("dst"))
        case Pipe.MTE2 | Pipe.MTE3 | Pipe.FIX:
            busy = _transfer(op, target, assumed)
            return Cost(busy, max(busy, _latency(op, assumed)))
    return _at_once(sum(_elements(r) * _scalar_access(r.memory) for r in _operands(op)))


def _at_once(cycles: float) -> Cost:
    """The cost of an operation whose result is there as soon as its pipe is free."""
    return Cost(cycles, cycles)


def _scalar_access(memory: Memory) -> float:
    return {Memory.VAR: 0.0, Memory.GM: TIMING.scalar_gm}.get(memory, TIMING.scalar_local)


def _vector(op: Op) -> tuple[float, int]:
    """Cycles of a vector operation: the elements of its widest operand in whole repeats. An
    elementwise operation takes runs one by one, where they are not adjacent and its instruction has
    no steps between them. With them the places that it takes in the queue."""
    operands = _operands(op)
    widest = max(operands, key=_elements)
    size = max(r.dtype.bits for r in operands) / 8
    runs, length = _runs(widest)
    limit = element_limit(op)
    if limit is not None and (count := constant_value(limit)) is not None:
        runs, length = 1, count
    lanes = REPEAT_BYTES / size
    given = op.opdef.rate
    of_two, of_four = given(op) if callable(given) else given
    rate = of_four * math.pow(of_two / of_four, math.log2(4 / size))
    repeats = runs * math.ceil(length / lanes)
    form = row_form(op)
    pieces = min(runs, (form.issues if form else None) or runs)
    steps = op.opdef.instructions(op)
    issued = steps * (pieces if op.opdef.elementwise else 1)
    barriers = steps - 1 if op.opdef.chained else 0
    least, waits = issued * TIMING.vector_issue, barriers * TIMING.vector_latency
    return max(least, repeats * lanes / rate) + waits, issued + barriers


def _fractals(op: Op) -> int:
    """Steps of a product: a fractal of the result and as much of k as a fractal has, of float32 a
    half of it."""
    rows = FRACTAL_ROWS
    if not any(o.name == "A" for o in op.opdef.operands):
        m, n = largest_matrix(op.region("dst"))
        return -(-m // rows) * -(-n // rows)
    a, c = op.region("A"), op.region("C")
    m, n, k = matrix_sizes(op) or (*largest_matrix(c), max(largest_matrix(a)))
    step = a.dtype.elements_in(BLOCK_BYTES) // (2 if a.dtype is FLOAT32 else 1)
    return -(-m // rows) * -(-n // rows) * -(-k // step)


def _load(dst: Region) -> Cost:
    """L1 to L0A, L0B and the bias table."""
    if dst.memory is Memory.BT:
        busy = max(TIMING.table_issue, _bytes(dst) / TIMING.table_rate)
        return Cost(busy, busy + TIMING.table_latency)
    rows, columns = matrix_footprint(dst.memory, dst.dtype, *largest_matrix(dst))
    rate = TIMING.l0a_rate if dst.memory is Memory.L0A else TIMING.l0b_rate
    work = dst.dtype.bytes_of(rows * columns) / rate
    return Cost(TIMING.load_issue + work, TIMING.load_latency + work)


def _transfer(op: Op, target: Target, assumed: Assumed) -> float:
    """Cycles of a movement. To or from gm they follow from the rate of the path or the share of the
    chip's rate, with rows in fractals one by one. Else they are those of a constant into L1, or of
    L0C to L1."""
    dst = op.region("dst")
    src = next((r for r in _operands(op) if r is not dst), None)
    if src is None:
        return TIMING.load_issue + _bytes(dst) / TIMING.fill_rate
    if Memory.GM not in (src.memory, dst.memory):
        return TIMING.fix_issue + _elements(src) / TIMING.fix_l1_rate
    gm, local = (src, dst) if src.memory is Memory.GM else (dst, src)
    # Of a region whose sizes are not known, as much is moved as the other side can hold.
    if gm.static_extents() is not None:
        shaped, (runs, length) = gm, _runs(gm)
        if src.memory is Memory.L0C:  # Fixpipe writes rows one by one, also where they touch
            length = min(length, _sizes(gm)[-1])
            runs = _elements(gm) // length
    else:
        shaped, length = local, _sizes(local)[-1]
        runs = _elements(local) // length
    moved = runs * _asked(gm, gm.dtype.bytes_of(length))
    busy = max(TIMING.dma_issue, moved / _rate(src, dst, target, assumed))
    _, columns = largest_matrix(shaped)
    if dst.memory is Memory.L1 and _in_fractals(gm, dst, columns):
        busy = max(busy, _elements(shaped) // columns * _nd2nz_row(gm, columns, assumed))
    return busy


def _in_fractals(gm: Region, l1: Region, columns: int) -> bool:
    """Whether rows are laid out in fractals one by one: not where gm has fractals too, or rows that
    touch as those of a column of fractals do."""
    if is_run(l1.buffer) or is_fractals(gm):
        return False
    touch = constant_value(gm.buffer.shape[-1]) == columns
    return not (touch and gm.dtype.bytes_of(columns) == BLOCK_BYTES)


def _latency(op: Op, assumed: Assumed) -> float:
    """Until the first bytes from gm can be used, or the last are there."""
    dst = op.region("dst")
    load = TIMING.gm_load_latency + (0 if assumed.in_l2 else TIMING.gm_miss_latency)
    if dst.memory is Memory.GM:
        return TIMING.gm_store_latency + (load if _in_part(dst) else 0)
    return load if any(r.memory is Memory.GM for r in _operands(op)) else 0


def _in_part(gm: Region) -> bool:
    """Whether rows of a store are known to begin or end within blocks, whose rest is read first."""
    block = 8 * BLOCK_BYTES
    pitch, row = constant_value(gm.buffer.shape[-1]), _runs(gm)[1]
    rows = _elements(gm) > row
    return gm.dtype.bits * row % block != 0 or (
        rows and pitch is not None and gm.dtype.bits * pitch % block != 0
    )


def _asked(gm: Region, row: int) -> int:
    """The bytes of all requests for a row, which start at multiples of their size; on average,
    where the row starts at any block."""
    request = next((size for size in REQUEST_BYTES if row <= size), REQUEST_BYTES[-1])
    pitch = constant_value(gm.buffer.shape[-1])
    if pitch is not None and gm.dtype.bits * pitch % (8 * request) == 0:
        return round_up(row, request)
    return row + request - BLOCK_BYTES


def _nd2nz_row(gm: Region, columns: int, assumed: Assumed) -> float:
    row = gm.dtype.bytes_of(columns)
    pitch = constant_value(gm.buffer.shape[-1])
    asked = _asked(gm, row)
    cycles = max(TIMING.nd2nz_row_least, TIMING.nd2nz_row + asked / TIMING.nd2nz_rate)
    if not assumed.in_l2:
        cycles += TIMING.nd2nz_row_miss + asked / TIMING.nd2nz_miss_rate
    if pitch is not None and gm.dtype.bits * pitch % (8 * BLOCK_BYTES):
        return max(cycles, row / TIMING.nd2nz_unaligned_rate)
    return cycles


def _rate(src: Region, dst: Region, target: Target, assumed: Assumed) -> float:
    """Bytes a cycle."""
    cached = assumed.in_l2
    own = {
        (Memory.GM, Memory.UB): TIMING.gm_ub_rate if cached else TIMING.gm_ub_cold_rate,
        (Memory.GM, Memory.L1): TIMING.gm_l1_rate if cached else TIMING.gm_l1_cold_rate,
        (Memory.UB, Memory.GM): TIMING.ub_gm_rate if cached else TIMING.ub_gm_new_rate,
        (Memory.L1, Memory.GM): TIMING.l1_gm_rate,
        (Memory.L0C, Memory.GM): TIMING.l0c_gm_rate,
    }[src.memory, dst.memory]
    if assumed.cores <= 1:
        return own  # the chip has more than that for one core
    read_from_hbm = src.memory is Memory.GM and not cached
    chip = TIMING.hbm_bandwidth if read_from_hbm else TIMING.l2_bandwidth
    return min(own, chip * 1e3 / target.clock_mhz / assumed.cores)


def _operands(op: Op) -> list[Region]:
    """The regions that scripts name: working memory is as large as it must be at most."""
    return [
        operand
        for definition, operand in defined_operands(op)
        if isinstance(operand, Region) and definition.name != "scratch"
    ]


def _runs(region: Region) -> tuple[int, int]:
    """How many runs of consecutive elements a region has, and the elements of each."""
    sizes = _sizes(region)
    inside = contiguous_suffix(region)
    outside = len(sizes) - inside
    return math.prod(sizes[:outside]), math.prod(sizes[outside:])


def _elements(region: Region) -> int:
    return math.prod(_sizes(region))


def _bytes(region: Region) -> int:
    return region.dtype.bytes_of(_elements(region))


def _sizes(region: Region) -> list[int]:
    """Extents; where one is not known, that of the buffer, and 1 where that is not either."""
    pairs = zip(region.dims, region.buffer.shape, strict=True)
    return [constant_value(s.extent) or constant_value(size) or 1 for s, size in pairs]
