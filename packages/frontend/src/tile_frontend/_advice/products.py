"""Model the time of a matrix product on a chip, by the sizes of its tiles.

The kernel of the model deals its tiles to all cube cores and overlaps loads, products and results.
Which sizes to try, and the order of the tiles, are decided elsewhere.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from tile_frontend._advice.modelled_ops import corner, cycles_from_hbm, operation, tile
from tile_ir import BOOL, Const, DType, Memory, Region, Target, k0_elements, round_up
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.costs.timing import timing_of
from tile_ir.layout.footprint import matrix_footprint
from tile_ir.quick_dataclasses import dataclass

# Of each operand there are two in l0, and two in l1.
VERSIONS = 2
# More of k in l0 at a time gains nothing.
LONGEST_STEP = 128


@dataclass(frozen=True, slots=True)
class Product:
    """[m, k] x [k, n] of one type, row major in gm."""

    m: int
    n: int
    k: int
    dtype: DType


class Tiles(NamedTuple):
    """Rows and columns of a tile of the result, and the part of k that an iteration loads."""

    block_M: int
    block_N: int
    block_K: int


def unit_of(dtype: DType) -> int:
    """Sides of the squares that tiles are made of."""
    return max(16, k0_elements(dtype))


def step_of_k(m: int, n: int, dtype: DType, target: Target) -> int:
    """Elements of k that one instruction multiplies, as operands lie in l0 twice; 0 where not even
    the least fits."""
    room = min(
        dtype.elements_in(target.capacity[memory]) // (VERSIONS * round_up(size, unit_of(dtype)))
        for memory, size in ((Memory.L0A, m), (Memory.L0B, n))
    )
    return min(room // unit_of(dtype) * unit_of(dtype), LONGEST_STEP)


def fits(tiles: Tiles, dtype: DType, target: Target) -> bool:
    """Whether l0c holds the tile, l0a and l0b a step of k twice, and l1 the loads of two
    iterations."""
    m, n, k = tiles
    accumulator = target.accumulators[dtype]
    result = _bytes(Memory.L0C, accumulator, m, n)
    loaded = VERSIONS * (_bytes(Memory.L1, dtype, m, k) + _bytes(Memory.L1, dtype, k, n))
    return (
        step_of_k(m, n, dtype, target) > 0
        and result <= target.capacity[Memory.L0C]
        and loaded <= target.capacity[Memory.L1]
    )


def modelled_cycles(product: Product, tiles: Tiles, target: Target) -> float:
    """Core cycles of the whole product: the tiles of the busiest core, its first loads from HBM,
    and the start. Each tile lasts as long as the busiest of its loads, products and result."""
    m, n, k = tiles
    dtype, rows, columns = product.dtype, product.m, product.n
    # The loads of a tile go on under the one before, and are as deep in k as l1 allows.
    room = dtype.elements_in(target.capacity[Memory.L1]) // (VERSIONS * (m + n))
    deep = _depth(product.k, k, room)
    step = min(step_of_k(m, n, dtype, target), k)
    steps = math.ceil(product.k / step)
    loads = [
        load_cycles(product.k, m, deep, product.k, dtype, target, in_l2)
        + product.k / deep * load_cycles(columns, deep, n, n, dtype, target, in_l2)
        for in_l2 in (True, False)
    ]
    products = steps * _product(m, n, step, dtype, target)
    into_l0 = steps * _into_l0(m, n, step, dtype, target)
    result = _result(columns, m, n, dtype, target)
    # Whole tiles leave l0c under the products of the next one, by its unit flags.
    whole = rows % m == 0 and columns % n == 0
    cycles_of_tile = max(loads[0], products, into_l0, result) + (0 if whole else result)
    tiles_of_all = math.ceil(rows / m) * math.ceil(columns / n)
    waves = math.ceil(tiles_of_all / target.cube_cores)
    busy = min(tiles_of_all, target.cube_cores)
    # Each row and column of tiles comes from HBM once, dealt over the cores that work.
    fresh = min(math.ceil(rows / m) + math.ceil(columns / n), 2 * tiles_of_all)
    cold = (loads[1] - loads[0]) / 2 * fresh / busy
    start = loads[1] / math.ceil(product.k / deep) + result
    return max(waves * cycles_of_tile + cold, _from_hbm(product, target)) + start


def tile_cycles(product: Product, target: Target) -> float:
    """Of the cube alone, for one tile as large as the product."""
    m, n = product.m, product.n
    step = min(step_of_k(m, n, product.dtype, target), round_up(product.k, unit_of(product.dtype)))
    return math.ceil(product.k / step) * _product(m, n, step, product.dtype, target)


def least_cycles(product: Product, tiles: Tiles, target: Target) -> float:
    """A lower bound for every schedule that loads both operands of each tile, in cycles: the
    products or loads of the busiest core without contention, or the traffic from HBM."""
    m, n, _ = tiles
    tiles_of_all = math.ceil(product.m / m) * math.ceil(product.n / n)
    waves = math.ceil(tiles_of_all / target.cube_cores)
    dtype, whole = product.dtype, (min(m, product.m), min(n, product.n))
    products = tile_cycles(Product(*whole, product.k, dtype), target)
    loaded = dtype.bytes_of(sum(whole) * product.k) / timing_of(target)["gm_l1_rate"]
    return max(waves * max(products, loaded), _from_hbm(product, target))


def _from_hbm(product: Product, target: Target) -> float:
    return cycles_from_hbm(product.dtype.bytes_of((product.m + product.n) * product.k), target)


def _depth(whole: int, k: int, room: int) -> int:
    """The part of k in one load: as many iterations as l1 has room for, if they divide all."""
    steps = math.ceil(whole / k)
    most = max(min(room // k, steps), 1)
    return k * next((n for n in range(most, most // 2, -1) if steps % n == 0), most)


def _bytes(memory: Memory, dtype: DType, rows: int, columns: int) -> int:
    return dtype.bytes_of(math.prod(matrix_footprint(memory, dtype, rows, columns)))


@lru_cache(maxsize=8192)
def load_cycles(
    pitch: int, rows: int, columns: int, whole: int, dtype: DType, target: Target, in_l2: bool
) -> float:
    """Cycles to load rows of `whole` elements in pieces of so many columns, of which the last is as
    much cheaper as it is smaller."""
    src, dst = tile(Memory.GM, dtype, rows, pitch), tile(Memory.L1, dtype, rows, columns)
    op = operation("copy_gm_l1", corner(src, rows, columns), Region.whole(dst))
    return cost(op, target, Assumed(in_l2, target.cube_cores)).busy * whole / columns


@lru_cache(maxsize=8192)
def _product(m: int, n: int, k: int, dtype: DType, target: Target) -> float:
    a, b = tile(Memory.L0A, dtype, m, k), tile(Memory.L0B, dtype, k, n)
    c = tile(Memory.L0C, target.accumulators[dtype], m, n)
    op = operation("mma", *map(Region.whole, (a, b, c)), Const(True, BOOL))
    return cost(op, target).busy


@lru_cache(maxsize=8192)
def _into_l0(m: int, n: int, k: int, dtype: DType, target: Target) -> float:
    found = 0.0
    for name, memory, sides in (
        ("copy_l1_l0a", Memory.L0A, (m, k)),
        ("copy_l1_l0b", Memory.L0B, (k, n)),
    ):
        tiles = (tile(place, dtype, *sides) for place in (Memory.L1, memory))
        found += cost(operation(name, *map(Region.whole, tiles)), target).busy
    return found


@lru_cache(maxsize=8192)
def _result(pitch: int, m: int, n: int, dtype: DType, target: Target) -> float:
    src = tile(Memory.L0C, target.accumulators[dtype], m, n)
    kind = dtype if dtype.size > 1 else src.dtype
    dst = tile(Memory.GM, kind, m, max(pitch, n))
    op = operation("copy_l0c_gm", Region.whole(src), corner(dst, m, n))
    return cost(op, target, Assumed(cores=target.cube_cores)).busy
