"""Model the time of attention on a chip, by its tiles of queries and keys.

The kernel of the model overlaps its cores: the cube core computes scores and weighted sums while
the vector cores compute the weights of the previous iteration.
"""

from __future__ import annotations

import math

from tile_frontend._advice.products import VERSIONS, Product, load_cycles, step_of_k, tile_cycles
from tile_frontend._advice.rows import RowWork, vector_cycles
from tile_ir import FLOAT32, DType, Memory, Target
from tile_ir.costs.timing import timing_of
from tile_ir.quick_dataclasses import dataclass

# Scores that the vector cores of a block take at a time.
SCORES = 16384
# Keys whose values are loaded at a time.
KEYS = 128
# Of the shorter half of an iteration, what is not done beside the longer one; and what moving bytes
# through L2 takes when all cores do it at some times and none at others. Both were chosen so that
# tiles are ranked as the simulator ranks examples/developer/flash_attention.py
# (tests/runtime/test_recommended_configs.py); 1.12 to 1.18 do so for the second.
NOT_OVERLAPPED = 0.2
UNEVEN = 1.17
# Over all scores: they are scaled, become weights, and weights of the narrow type.
_PASSES = ("mul", "exp", "add")
# Over a number for each row: what the sums before shrink by, the new sums, and two copies.
_KEPT = ("sub", "mul", "exp", "mul", "add", "add", "add")


@dataclass(frozen=True, slots=True)
class Attention:
    """`heads` of all batches, each of so many queries and keys of so many elements."""

    heads: int
    queries: int
    keys: int
    width: int
    dtype: DType


def fits(work: Attention, m: int, n: int, target: Target) -> bool:
    """Whether the memories suffice. l1 holds queries, keys and values of two iterations and the
    weights, l0c scores of some rows and all sums, and ub the half of a vector core."""
    size, part = work.dtype.bytes_of, FLOAT32.bytes_of
    rows = _rows(m, n)
    in_l0c = part(rows * n) + part(m * work.width)
    in_ub = VERSIONS * (part(rows * n) + part(rows * work.width)) // 2
    in_ub += (size(rows * n) + size(rows * work.width) + part(m * work.width)) // 2
    return (
        _in_l1(work, m, n, 1) <= target.capacity[Memory.L1]
        and in_l0c <= target.capacity[Memory.L0C]
        and in_ub <= target.capacity[Memory.UB]
        and step_of_k(m, n, work.dtype, target) > 0
    )


def _in_l1(work: Attention, m: int, n: int, versions: int) -> int:
    """Bytes of queries, keys and values of two iterations, and `versions` of weights."""
    operands = m * work.width + VERSIONS * (n + min(n, KEYS)) * work.width
    return work.dtype.bytes_of(operands + versions * m * n)


def modelled_cycles(work: Attention, m: int, n: int, target: Target) -> float:
    """Core cycles of the launch. The busiest core runs its iterations over keys. Each lasts as long
    as its slowest part (cube core, vector cores or traffic through L2) and a share of the shorter
    half. Half an iteration comes on top to fill the pipes, and half to drain them. Where l1 has no
    room for the weights of the next iteration, the cube core loads them after the products of this
    one."""
    timing = timing_of(target)
    cube, vector = _halves(work, m, n, target)
    handover = 2 * timing["cross_flag_latency"] + timing["gm_load_latency"]
    cycles = max(cube, vector, _through_l2(work, m, n, target))
    cycles += NOT_OVERLAPPED * min(cube, vector)
    way = (cube + vector) / 2 + handover + _back(work, m, n, target)
    return _iterations(work, m, n, target) * cycles + way


def least_cycles(work: Attention, m: int, n: int, target: Target) -> float:
    """A lower bound, in cycles, for all schedules of these tiles: products of the busiest core."""
    scores = tile_cycles(Product(m, n, work.width, work.dtype), target)
    sums = tile_cycles(Product(m, work.width, n, work.dtype), target)
    return _iterations(work, m, n, target) * (scores + sums)


def _iterations(work: Attention, m: int, n: int, target: Target) -> int:
    tiles = work.heads * math.ceil(work.queries / m)
    return math.ceil(tiles / target.cube_cores) * math.ceil(work.keys / n)


def _halves(work: Attention, m: int, n: int, target: Target) -> tuple[float, float]:
    """Cycles of an iteration on both kinds of core: the longest of products, loads and results; and
    the weights."""
    timing = timing_of(target)
    scores = tile_cycles(Product(m, n, work.width, work.dtype), target)
    sums = tile_cycles(Product(m, work.width, n, work.dtype), target)
    loads = 2 * load_cycles(work.width, n, work.width, work.width, work.dtype, target, True)
    loads += load_cycles(n, m, n, n, work.dtype, target, True)  # of the weights
    results = FLOAT32.bytes_of(m * (n + work.width)) / timing["l0c_gm_rate"]
    cube = max(scores + sums, results, loads)
    if _in_l1(work, m, n, VERSIONS) > target.capacity[Memory.L1]:
        cube += sums + 2 * timing["cross_flag_latency"] + timing["gm_load_latency"]
    rows = _rows(m, n)
    weigh = RowWork(m, n, FLOAT32, 1, ("reduce_max", *_PASSES, "reduce_sum"), ("sub",))
    add = RowWork(m, work.width, FLOAT32, 1, ("add",), ("mul",))
    keep = vector_cycles(RowWork(1, m, FLOAT32, 1, _KEPT), 1, max(1, m // 2), target)
    half = max(1, rows // 2)
    vector = vector_cycles(weigh, half, n, target) + vector_cycles(add, half, work.width, target)
    # Nobody waits for the sums of weights before all are taken.
    vector -= timing["sum_latency"] - timing["vector_latency"]
    return cube, math.ceil(m / rows) * vector + keep


def _through_l2(work: Attention, m: int, n: int, target: Target) -> float:
    """Cycles of a block's traffic in an iteration: scores, weights and sums, which one kind of core
    stores and the other loads, and keys and values."""
    handed = (FLOAT32.bits + work.dtype.bits) * m * n + FLOAT32.bits * m * work.width
    moved = (2 * handed + 2 * work.dtype.bits * n * work.width) / 8
    rate = timing_of(target)["l2_bandwidth"] * 1e3 / target.clock_mhz / target.cube_cores
    return UNEVEN * moved / rate


def _back(work: Attention, m: int, n: int, target: Target) -> float:
    """Cycles to store the weights of the rows that are taken at a time."""
    half = max(1, _rows(m, n) // 2)
    return work.dtype.bytes_of(half * n) / timing_of(target)["ub_gm_rate"]


def _rows(m: int, n: int) -> int:
    return max(2, min(m, n, SCORES // n))
