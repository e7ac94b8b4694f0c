"""Model the time of vector work on rows of matrices, by the sizes of its tiles.

The work is elementwise operations and reductions. Tiles are dealt to all cores, and each vector
core of a block takes half of the rows of a tile. Products are in `products`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tile_frontend._advice.modelled_ops import NOWHERE, corner, cycles_from_hbm, operation, tile
from tile_ir import (
    BLOCK_BYTES,
    FLOAT32,
    OPS,
    REPEAT_BYTES,
    Buffer,
    Const,
    DType,
    Memory,
    Op,
    Region,
    Target,
    round_up,
)
from tile_ir.costs.instruction_cost import Assumed, Cost, cost
from tile_ir.costs.timing import timing_of
from tile_ir.ops.reduce import by_blocks
from tile_ir.quick_dataclasses import dataclass

# Of ub, for numbers of rows and what operations keep for themselves.
ASIDE = 1 / 8


@dataclass(frozen=True, slots=True)
class RowWork:
    """A matrix of one type that is made of `reads` others of its size by operations one after the
    other: `steps`, which are elementwise, and reductions of rows; and `by_row`, whose second
    operand is one number for each row. With reductions all is done in float32."""

    rows: int
    columns: int
    dtype: DType
    reads: int
    steps: tuple[str, ...]
    by_row: tuple[str, ...] = ()

    @property
    def one_by_one(self) -> bool:
        """Whether elements have nothing to do with each other."""
        return not any(OPS[name].family == "reduce" for name in self.steps)

    @property
    def computed(self) -> DType:
        return self.dtype if self.one_by_one else FLOAT32


def versions_that_fit(work: RowWork, m: int, n: int, target: Target) -> int:
    """The number of tiles with room in ub: 2 if loads can run ahead, 1, or 0 if the tile is too
    large."""
    rows, width = _of_a_core(m), _width(n, work.dtype)
    moved = work.reads * work.dtype.bytes_of(rows * width)
    # Of another type than that of the operations there is a copy.
    wide = 0 if work.computed is work.dtype else work.computed.bytes_of(rows * width)
    room = target.capacity[Memory.UB] * (1 - ASIDE) - wide
    return max(0, min(2, int(room // moved)))


def modelled_cycles(work: RowWork, m: int, n: int, target: Target) -> float:
    """Core cycles of the launch, without what launching takes: waves, of which some have the last
    columns, and what is left then of the way of the last tile. Tiles go to cores in turn: where
    the tiles of a row and the cores have a divisor, some cores have more of the last columns."""
    across = math.ceil(work.columns / n)
    last = work.columns - (across - 1) * n
    edge = _tile_cycles(work, m, n, last, target)
    inside = _tile_cycles(work, m, n, n, target) if across > 1 else edge
    of_edges = math.gcd(across, target.cube_cores) / across
    slowest = inside.alone + max(0, edge.alone - inside.alone) * of_edges
    shared = inside.shared + (edge.shared - inside.shared) / across
    cycles = _waves(work, m, n, target) * max(slowest, shared)
    return max(cycles, _memory(work, target)) + max(0, inside.way - inside.alone)


class _TileCycles(NamedTuple):
    """Cycles of a tile for a core alone, for one of all that move bytes at a time, and from its
    first load to the end of its store."""

    alone: float
    shared: float
    way: float


def _tile_cycles(work: RowWork, m: int, n: int, columns: int, target: Target) -> _TileCycles:
    """Model a tile of which `columns` columns lie in the matrix. It lasts as long as its busiest
    pipe, or half the chain of load, computation and store, since two tiles overlap. A core
    completes its stores in order, and flags hand over between pipes. Where rows are not whole, or
    end within a block, the kernel fills the tile before the load, and the vector core waits for the
    load."""
    loads, vector, store = _parts_of_tile(work, m, n, columns, target, Assumed(in_l2=False))
    all_cores = Assumed(in_l2=False, cores=target.vector_cores)
    shared = max(c.busy for c in _parts_of_tile(work, m, n, columns, target, all_cores))
    flag = timing_of(target)["flag_latency"]
    chain = loads.done + vector.done + store.done + 3 * flag
    overlaps = versions_that_fit(work, m, n, target) > 1
    busy = (loads.busy, vector.busy, store.busy)
    cycles = max(*busy, store.done + flag, chain / 2) if overlaps else chain
    wide = _width(min(n, work.columns), work.dtype)
    if columns < wide:
        filled = Region.whole(tile(Memory.UB, work.dtype, _of_a_core(m), wide))
        fill = work.reads * cost(operation("fill", filled, Const(0)), target).done
        cycles = max(cycles, fill + chain - (store.done if overlaps else 0))
    return _TileCycles(cycles, shared, chain)


def least_cycles(work: RowWork, m: int, n: int, target: Target) -> float:
    """A lower bound for every schedule of these tiles, whatever they compute, in cycles: loads or
    stores of the busiest core without contention, or memory."""
    loads, _, store = _parts_of_tile(work, m, n, min(n, work.columns), target, Assumed())
    busy = max(loads.busy, store.busy)
    return max(_waves(work, m, n, target) * busy, _memory(work, target))


def _waves(work: RowWork, m: int, n: int, target: Target) -> int:
    tiles = math.ceil(work.rows / m) * math.ceil(work.columns / n)
    return math.ceil(tiles / target.cube_cores)


def _memory(work: RowWork, target: Target) -> float:
    """Cycles until all is read once; what is written stays in L2."""
    return cycles_from_hbm(work.reads * work.dtype.bytes_of(work.rows * work.columns), target)


def _parts_of_tile(
    work: RowWork, m: int, n: int, columns: int, target: Target, assumed: Assumed
) -> tuple[Cost, Cost, Cost]:
    """Costs of the loads, the computation and the store of one vector core for a tile with
    `columns` columns in the matrix. The core has half of the rows. With a single row, and work row
    by row, it has half of the columns."""
    rows, wide = _of_a_core(m), _width(min(n, work.columns), work.dtype)
    if m == 1 and work.one_by_one:
        wide = _width(math.ceil(wide / 2), work.dtype)
        columns = min(columns, wide)
    far = tile(Memory.GM, work.dtype, work.rows, work.columns)
    near = tile(Memory.UB, work.dtype, rows, wide)
    part, own = corner(far, rows, columns), corner(near, rows, columns)
    load = cost(operation("copy_gm_ub", part, own), target, assumed)
    store = cost(operation("copy_ub_gm", own, part), target, assumed)
    # A load starts when the pipe is done with the one before, which may still be on its way.
    loads = Cost(work.reads * load.busy, (work.reads - 1) * load.busy + load.done)
    vector = vector_cycles(work, rows, wide, target)
    return loads, Cost(vector, vector), store


def vector_cycles(work: RowWork, rows: int, columns: int, target: Target) -> float:
    """Cycles of one vector core for `rows` rows of a tile. Each step waits for the previous one. A
    cast costs as much as an addition. A reduction also costs an addition on one value per row. A
    step with a number per row costs an instruction for each row, or one for each strip of one
    repeat, whichever is less."""
    dtype = work.computed
    whole = tile(Memory.UB, dtype, rows, _width(columns, dtype))
    line = tile(Memory.UB, dtype, rows, 1)
    casts = ("add", "add") if dtype is not work.dtype else ()
    done = 0.0
    for name in (*work.steps, *casts):
        if OPS[name].family == "reduce":
            done += _reduce(name, rows, _width(columns, dtype), dtype, target)
            done += cost(_same("add", line), target).done
        else:
            done += cost(_same(name, whole), target).done
    lanes = dtype.elements_in(REPEAT_BYTES)
    for name in work.by_row:
        row = cost(_same(name, tile(Memory.UB, dtype, 1, _width(columns, dtype))), target).busy
        strip = cost(_same(name, tile(Memory.UB, dtype, rows, lanes)), target).busy
        done += min(rows * row, math.ceil(columns / lanes) * strip)
        # Numbers become blocks of eight, of rows that fill no block after two more instructions.
        done += cost(_same("add", line), target).done
        if rows % dtype.elements_in(BLOCK_BYTES):
            done += 2 * cost(_same("add", line), target).done
    return done


def _reduce(name: str, rows: int, columns: int, dtype: DType, target: Target) -> float:
    """Steps of a reduction of rows: blocks to one value each where rows are long, then strips as
    wide as a repeat onto each other, then each strip to one value."""
    lanes = dtype.elements_in(REPEAT_BYTES)
    if columns <= lanes:
        return _reduced(name, rows, columns, dtype, target)
    if by_blocks(rows, columns):
        values = columns // dtype.elements_in(BLOCK_BYTES)
        return _reduced(name, rows, columns, dtype, target) + _reduce(
            name, rows, values, dtype, target
        )
    strip = cost(_same("add", tile(Memory.UB, dtype, rows, lanes)), target).done
    strips, tail = divmod(columns, lanes)
    left = max(0, strips - 2)
    of_a_row = cost(_same("add", tile(Memory.UB, dtype, max(1, left), lanes)), target).busy
    onto = min(left * strip, rows * of_a_row)
    whole = _reduced(name, rows, lanes, dtype, target)
    return strip + onto + (strip if tail else 0) + whole


def _reduced(name: str, rows: int, columns: int, dtype: DType, target: Target) -> float:
    """By instructions that reduce blocks or repeats."""
    rows_of, line = (tile(Memory.UB, dtype, rows, size) for size in (columns, 1))
    whole = (Region.whole(rows_of), Region.whole(line), Region.whole(rows_of))
    return cost(Op(OPS[name], whole, (-1, True), NOWHERE), target).done


def _same(name: str, buffer: Buffer) -> Op:
    """An operation all of whose operands are one buffer."""
    return operation(name, *(Region.whole(buffer),) * len(OPS[name].operands))


def _of_a_core(m: int) -> int:
    return max(1, m // 2)


def _width(columns: int, dtype: DType) -> int:
    """Rows in ub start at multiples of a block."""
    return round_up(columns, dtype.elements_in(BLOCK_BYTES))
