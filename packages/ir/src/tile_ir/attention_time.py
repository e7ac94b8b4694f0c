"""What attention takes on a chip, by its tiles of queries and keys, as costs of the time model: for
a kernel whose cube core makes scores and sums while its vector cores weigh those of the round
before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tile_ir.dtypes import FLOAT32, DType
from tile_ir.machine import Memory
from tile_ir.product_time import VERSIONS, Product, load_cycles, step_of_k, tile_cycles
from tile_ir.row_work_time import RowWork, vector_cycles
from tile_ir.target import Target
from tile_ir.timing import timing_of

# Scores that the vector cores of a block take at a time.
SCORES = 16384
# Keys whose values are loaded at a time.
KEYS = 128
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
    """Whether l1 holds queries, two rounds of keys and values and the weights, l0c scores of
    some rows and all sums, and ub what the vector cores keep of their half."""
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
    """Bytes of queries, two rounds of keys and values, and so many of weights."""
    operands = m * work.width + VERSIONS * (n + min(n, KEYS)) * work.width
    return work.dtype.bytes_of(operands + versions * m * n)


def modelled_cycles(work: Attention, m: int, n: int, target: Target) -> float:
    """Core cycles of the launch: rounds of keys of the busiest core, each as long as its slower
    half, and the rows through both that vector cores take at a time. Where l1 has no room for the
    weights of the next round, the first of these rows and what is handed over are waited for in
    every round."""
    cube, vector = _halves(work, m, n, target)
    timing = timing_of(target)
    handover = 2 * timing["cross_flag_latency"] + timing["gm_load_latency"]
    way = (cube + vector) / math.ceil(m / _rows(m, n)) + handover
    overlap = _in_l1(work, m, n, VERSIONS) <= target.capacity[Memory.L1]
    in_turn = min(cube, vector) / math.ceil(m / _rows(m, n)) + handover
    a_round = max(cube, vector) + (0 if overlap else in_turn)
    return _rounds(work, m, n, target) * a_round + way


def least_cycles(work: Attention, m: int, n: int, target: Target) -> float:
    """What no schedule of these tiles is below: the products of the busiest core."""
    scores = tile_cycles(Product(m, n, work.width, work.dtype), target)
    sums = tile_cycles(Product(m, work.width, n, work.dtype), target)
    return _rounds(work, m, n, target) * (scores + sums)


def _rounds(work: Attention, m: int, n: int, target: Target) -> int:
    tiles = work.heads * math.ceil(work.queries / m)
    return math.ceil(tiles / target.cube_cores) * math.ceil(work.keys / n)


def _halves(work: Attention, m: int, n: int, target: Target) -> tuple[float, float]:
    """Of a round: products, loads or results, whatever takes longest; and weighing."""
    timing = timing_of(target)
    scores = tile_cycles(Product(m, n, work.width, work.dtype), target)
    sums = tile_cycles(Product(m, work.width, n, work.dtype), target)
    loads = 2 * load_cycles(work.width, n, work.width, work.width, work.dtype, target, True)
    loads += load_cycles(n, m, n, n, work.dtype, target, True)  # of the weights
    results = FLOAT32.bytes_of(m * (n + work.width)) / timing["l0c_gm_rate"]
    rows = _rows(m, n)
    chunks = math.ceil(m / rows)
    weigh = RowWork(m, n, FLOAT32, 1, ("reduce_max", *_PASSES, "reduce_sum"), ("sub",))
    add = RowWork(m, work.width, FLOAT32, 1, ("add",), ("mul",))
    keep = vector_cycles(RowWork(1, m, FLOAT32, 1, _KEPT), 1, max(1, m // 2), target)
    half = max(1, rows // 2)
    vector = vector_cycles(weigh, half, n, target) + vector_cycles(add, half, work.width, target)
    back = work.dtype.bytes_of(half * n) / timing["ub_gm_rate"]
    return max(scores + sums, results, loads), chunks * (vector + back) + keep


def _rows(m: int, n: int) -> int:
    return max(2, min(m, n, SCORES // n))


__all__ = ["Attention", "fits", "least_cycles", "modelled_cycles"]
