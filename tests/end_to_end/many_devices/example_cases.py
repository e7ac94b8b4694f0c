"""The examples of many devices with sizes, arguments and what is expected, for any number of ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .rank_cases import STEP, OfRank, OfRanks, RankCase, space, words, zeros

RANKS = (1, 2, 3, 4, 5, 8)
BLOCKS = 3


def _random(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(dtype)


def _in_order(terms: np.ndarray) -> np.ndarray:
    """The sum over dimension 0, added from the first to the last."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def _everywhere(value: np.ndarray, ranks: int) -> np.ndarray:
    return np.stack([value] * ranks)


def neighbour(ranks: int, n: int) -> RankCase:
    x = _random(ranks, n)
    arguments = (OfRanks(x), zeros(ranks, n), space(ranks, n))
    expected = np.roll(x, 1, 0)
    return RankCase("neighbour_copy", "neighbour_copy", (n,), ranks, arguments, {2: expected})


def gather(ranks: int, n: int, ring: bool = False) -> RankCase:
    x = _random(ranks, n)
    arguments = (OfRank(x), zeros(ranks, ranks, n), words(ranks, ranks * BLOCKS), STEP)
    expected = {1: _everywhere(x, ranks)}
    return RankCase("collectives", "gather", (ranks, n, BLOCKS, ring), ranks, arguments, expected)


def ring(ranks: int, n: int) -> RankCase:
    return gather(ranks, n, ring=True)


def exchange(ranks: int, n: int) -> RankCase:
    x = _random(ranks, ranks, n)
    arguments = (OfRank(x), zeros(ranks, ranks, n), words(ranks, ranks * BLOCKS), STEP)
    expected = {1: x.transpose(1, 0, 2)}
    return RankCase("collectives", "exchange", (ranks, n), ranks, arguments, expected)


def exchange_rows(ranks: int, n: int) -> RankCase:
    most, width = 7, n
    x = _random(ranks, ranks, most, width)
    counts = np.random.default_rng(0).integers(0, most + 1, (ranks, ranks)).astype(np.int32)
    arguments = (
        OfRank(x), OfRank(counts), zeros(ranks, ranks, most, width), words(ranks, ranks * BLOCKS), STEP,
    )  # fmt: skip
    sent = x * (np.arange(most) < counts[:, :, None])[..., None]
    parameters = (ranks, most, width)
    expected = {2: sent.transpose(1, 0, 2, 3)}
    return RankCase("collectives", "exchange_rows", parameters, ranks, arguments, expected)


def scattered_sum(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, ranks, n), words(ranks, ranks * BLOCKS)
    arguments = (OfRank(x), zeros(ranks, ranks, n), space(ranks, n), all_words, all_words, STEP)
    expected = {2: _in_order(x)}
    return RankCase(
        "collectives", "scattered_sum", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def sum_at_once(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, n), words(ranks, ranks * BLOCKS)
    arguments = (OfRank(x), zeros(ranks, ranks, n), space(ranks, n), all_words, all_words, STEP)
    expected = {2: _everywhere(_in_order(x), ranks)}
    return RankCase(
        "collectives", "sum_at_once", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def sum_of_all(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, ranks, n), words(ranks, ranks * BLOCKS)
    rows = zeros(ranks, ranks, n)
    arguments = (OfRank(x), rows, rows, all_words, all_words, STEP)
    expected = {2: _everywhere(_in_order(x), ranks)}
    return RankCase(
        "collectives", "sum_of_all", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def send_to_all(ranks: int, n: int) -> RankCase:
    x, root = _random(ranks, n), ranks // 2
    arguments = (OfRank(x), zeros(ranks, n), words(ranks, BLOCKS), STEP, root)
    expected = {1: _everywhere(x[root], ranks)}
    return RankCase("collectives", "send_to_all", (n,), ranks, arguments, expected)


def ag_gemm(ranks: int, m: int) -> RankCase:
    n, k, rows, piece = m + 30, 2 * m + 3, 32, 16
    a, b = _random(ranks, m, k, dtype=np.float16), _random(ranks, k, n, dtype=np.float16)
    gathered = np.zeros((ranks, ranks, m, k), np.float16)
    gathered[np.arange(ranks), np.arange(ranks)] = a
    arguments = (
        OfRanks(gathered), OfRank(b), words(ranks, ranks * -(-m // piece)),
        space(ranks, ranks, m, n, dtype=np.float16), STEP,
    )  # fmt: skip
    exact = a.reshape(1, ranks, m, k).astype(np.float64) @ b[:, None].astype(np.float64)
    return RankCase(
        "ag_gemm", "ag_gemm", (ranks, m, n, k, rows, 64, 64, piece, BLOCKS), ranks, arguments,
        {3: exact}, bound=_half(exact),
    )  # fmt: skip


def gemm_rs(ranks: int, m: int) -> RankCase:
    n, k, rows, columns = m + 30, 2 * m + 3, 32, 64
    a, b = _random(ranks, ranks, m, k, dtype=np.float16), _random(ranks, k, n, dtype=np.float16)
    tiles = -(-m // rows) * -(-n // columns)
    arguments = (
        OfRank(a), OfRank(b), zeros(ranks, ranks, m, n, dtype=np.float16),
        words(ranks, ranks * tiles), space(ranks, m, n, dtype=np.float16), STEP,
    )  # fmt: skip
    parts = a.astype(np.float64) @ b[:, None].astype(np.float64)
    return RankCase(
        "gemm_rs", "gemm_rs", (ranks, m, n, k, rows, columns, 64, BLOCKS), ranks, arguments,
        {4: parts.sum(0)}, bound=_half_of_parts(parts),
    )  # fmt: skip


def gemm_ar(ranks: int, m: int) -> RankCase:
    n, k, rows, columns = m + 30, 2 * m + 3, 32, 64
    a, b = _random(ranks, m, k, dtype=np.float16), _random(ranks, k, n, dtype=np.float16)
    tiles, owned = -(-m // rows) * -(-n // columns), -(-BLOCKS // ranks)
    stripes = 2 if BLOCKS // owned > 1 else 1
    arguments = (
        OfRank(a), OfRank(b), zeros(ranks, ranks, m, n, dtype=np.float16),
        words(ranks, ranks * tiles), zeros(ranks, m, n, dtype=np.float16),
        words(ranks, tiles * stripes), STEP,
    )  # fmt: skip
    parts = a.astype(np.float64) @ b.astype(np.float64)
    return RankCase(
        "gemm_ar", "gemm_ar", (ranks, m, n, k, rows, columns, 64, BLOCKS), ranks, arguments,
        {4: _everywhere(parts.sum(0), ranks)}, bound=_half_of_parts(parts),
    )  # fmt: skip


def pipeline(ranks: int, n: int, window: int = 2) -> RankCase:
    batches, blocks = 5, -(-n // 256)
    x = _random(batches, n)
    arguments = (
        OfRank(_everywhere(x, ranks)), zeros(ranks, window, n), words(ranks, blocks),
        words(ranks, blocks), space(ranks, batches, n), STEP,
    )  # fmt: skip
    y = np.zeros((ranks, batches, n), np.float32)
    y[-1] = x
    for rank in range(ranks):
        y[-1] = np.maximum(y[-1] * np.float32(0.5) + np.float32(rank), 0)
    parameters = (batches, n, window)
    return RankCase("pipeline_stages", "pipeline_stages", parameters, ranks, arguments, {4: y})


def pipeline_of_one(ranks: int, n: int) -> RankCase:
    return pipeline(ranks, n, 1)


def halo(ranks: int, width: int) -> RankCase:
    rows, iterations = 3, 4
    points = _random(ranks * rows, width)
    grid = np.zeros((ranks, 2, rows, width + 2), np.float32)
    grid[:, 0, :, 1:-1] = points.reshape(ranks, rows, width)
    arguments = (OfRank(grid), zeros(ranks, 2, 2, width), words(ranks, 2), STEP)
    for _ in range(2 * iterations):
        p = np.pad(points, 1)
        above, below, before, after = p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]
        points = (above + below + before + after) * np.float32(0.25)
    expected = grid.copy()
    expected[:, 0, :, 1:-1] = points.reshape(ranks, rows, width)
    parameters = (rows, width, iterations)

    return RankCase(
        "halo", "halo", parameters, ranks, arguments, {0: expected}, seen=lambda grid: grid[:, 0]
    )


def sum_by_engine(ranks: int, n: int) -> RankCase:
    x = _random(ranks, n)
    arguments = (OfRanks(x), space(ranks, 2, n), space(ranks, n))
    expected = np.stack([_in_order(np.roll(x, -rank, 0)) for rank in range(ranks)])
    return RankCase("sum_by_engine", "sum_by_engine", (n,), ranks, arguments, {2: expected})


def _moe(ranks: int, width: int, experts: int, chosen: np.ndarray) -> RankCase:
    tokens, top_k = chosen.shape[1:]
    x, weights = _random(ranks, tokens, width), np.abs(_random(ranks, tokens, top_k))
    scales, room = _random(experts, width), ranks * tokens * top_k
    all_words, line = words(ranks, ranks * 2), -(-experts // 16) * 16
    arguments = (
        OfRank(x), OfRank(chosen.astype(np.int32)), OfRank(weights), OfRank(_everywhere(scales, ranks)),
        zeros(ranks, ranks, 2, line, dtype=np.int32), zeros(ranks, room, width),
        zeros(ranks, tokens * top_k, width), all_words, all_words, all_words,
        space(ranks, tokens, width), STEP,
    )  # fmt: skip
    total = np.zeros_like(x)
    for k in range(top_k):
        total += x * scales[chosen[..., k]] * weights[..., k, None]
    parameters = (ranks, tokens, top_k, experts, width, room)
    return RankCase("moe", "moe", parameters, ranks, arguments, {10: total})


def moe(ranks: int, width: int) -> RankCase:
    """Experts that no number of ranks but 1 and 7 divides, of which one gets nothing."""
    drawn = np.random.default_rng(ranks)
    chosen = np.stack([drawn.permutation(6)[:2] for _ in range(ranks * 5)])
    return _moe(ranks, width, 7, chosen.reshape(ranks, 5, 2))


def moe_of_one(ranks: int, width: int) -> RankCase:
    """All tokens go to one expert, with either choice."""
    return _moe(ranks, width, 2 * ranks, np.full((ranks, 3, 2), ranks))


def attention(ranks: int, n: int, causal: bool = False) -> RankCase:
    heads, depth = 2, 32
    q, k, v = (_random(ranks, heads, n, depth + i, dtype=np.float16)[..., :depth] for i in range(3))
    places = zeros(ranks, 2, heads, n, depth, dtype=np.float16)
    arguments = (
        OfRank(q), OfRank(k), OfRank(v), places, places, words(ranks, heads), words(ranks, heads),
        space(ranks, heads, n, depth, dtype=np.float16), STEP,
    )  # fmt: skip
    whole = [
        x.astype(np.float64).transpose(1, 0, 2, 3).reshape(heads, -1, depth) for x in (q, k, v)
    ]
    scores = whole[0] @ whole[1].transpose(0, 2, 1) / np.sqrt(depth)
    if causal:
        scores = np.where(np.tri(ranks * n, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ whole[2]
    expected = out.reshape(heads, ranks, n, depth).transpose(1, 0, 2, 3)
    return RankCase(
        "ring_attention", "ring_attention", (heads, n, depth, causal), ranks, arguments,
        {7: expected}, bound=4e-3,
    )  # fmt: skip


def causal_attention(ranks: int, n: int) -> RankCase:
    return attention(ranks, n, causal=True)


def _half(exact: np.ndarray) -> float:
    """How far float16 may be from an exact value: half a unit in the last place of the largest,
    and as much again for sums in float32."""
    return float(np.abs(exact).max()) * 2.0**-10


def _half_of_parts(parts: np.ndarray) -> float:
    """How far a sum may be whose parts are float16 too, one for each index of dimension 0."""
    return _half(parts.sum(0)) + float(np.abs(parts).sum(0).max()) * 2.0**-11


# By example: how its case is made, and two sizes, of which the first leaves a rest everywhere.
EXAMPLES: dict[str, tuple[Callable[[int, int], RankCase], tuple[int, int]]] = {
    "neighbour": (neighbour, (301, 512)),
    "gather": (gather, (301, 96)),
    "ring": (ring, (301, 96)),
    "exchange": (exchange, (301, 96)),
    "exchange_rows": (exchange_rows, (37, 64)),
    "scattered_sum": (scattered_sum, (301, 96)),
    "sum_at_once": (sum_at_once, (301, 96)),
    "sum_of_all": (sum_of_all, (301, 96)),
    "send_to_all": (send_to_all, (301, 96)),
    "ag_gemm": (ag_gemm, (37, 32)),
    "gemm_rs": (gemm_rs, (37, 32)),
    "gemm_ar": (gemm_ar, (37, 32)),
    "pipeline": (pipeline, (301, 96)),
    "pipeline_of_one": (pipeline_of_one, (301, 96)),
    "halo": (halo, (77, 64)),
    "sum_by_engine": (sum_by_engine, (301, 96)),
    "moe": (moe, (37, 64)),
    "moe_of_one": (moe_of_one, (37, 64)),
    "attention": (attention, (21, 32)),
    "causal_attention": (causal_attention, (21, 32)),
}


def case_of(name: str, ranks: int, size: int) -> RankCase:
    make, sizes = EXAMPLES[name]
    return make(ranks, sizes[size])
