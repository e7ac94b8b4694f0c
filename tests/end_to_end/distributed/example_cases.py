"""The examples of many devices with sizes, arguments and what is expected, for any number of ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .rank_cases import STEP, Own, RankCase, Shared, space, words, zeros

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
    arguments = (Shared(x), zeros(ranks, n), space(ranks, n))
    expected = np.roll(x, 1, 0)
    return RankCase("neighbour_copy", "neighbour_copy", (n,), ranks, arguments, {2: expected})


def gather(ranks: int, n: int, ring: bool = False) -> RankCase:
    x = _random(ranks, n)
    arguments = (Own(x), zeros(ranks, ranks, n), words(ranks, ranks * BLOCKS), STEP)
    expected = {1: _everywhere(x, ranks)}
    return RankCase("collectives", "gather", (ranks, n, BLOCKS, ring), ranks, arguments, expected)


def ring(ranks: int, n: int) -> RankCase:
    return gather(ranks, n, ring=True)


def exchange(ranks: int, n: int) -> RankCase:
    x = _random(ranks, ranks, n)
    arguments = (Own(x), zeros(ranks, ranks, n), words(ranks, ranks * BLOCKS), STEP)
    expected = {1: x.transpose(1, 0, 2)}
    return RankCase("collectives", "exchange", (ranks, n), ranks, arguments, expected)


def exchange_rows(ranks: int, n: int) -> RankCase:
    most, width = 7, n
    x = _random(ranks, ranks, most, width)
    counts = np.random.default_rng(0).integers(0, most + 1, (ranks, ranks)).astype(np.int32)
    arguments = (
        Own(x), Own(counts), zeros(ranks, ranks, most, width), words(ranks, ranks * BLOCKS), STEP,
    )  # fmt: skip
    sent = x * (np.arange(most) < counts[:, :, None])[..., None]
    parameters = (ranks, most, width)
    expected = {2: sent.transpose(1, 0, 2, 3)}
    return RankCase("collectives", "exchange_rows", parameters, ranks, arguments, expected)


def scattered_sum(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, ranks, n), words(ranks, ranks * BLOCKS)
    arguments = (Own(x), zeros(ranks, ranks, n), space(ranks, n), all_words, all_words, STEP)
    expected = {2: _in_order(x)}
    return RankCase(
        "collectives", "scattered_sum", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def sum_at_once(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, n), words(ranks, ranks * BLOCKS)
    arguments = (Own(x), zeros(ranks, ranks, n), space(ranks, n), all_words, all_words, STEP)
    expected = {2: _everywhere(_in_order(x), ranks)}
    return RankCase(
        "collectives", "sum_at_once", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def sum_of_all(ranks: int, n: int) -> RankCase:
    x, all_words = _random(ranks, ranks, n), words(ranks, ranks * BLOCKS)
    rows = zeros(ranks, ranks, n)
    arguments = (Own(x), rows, rows, all_words, all_words, STEP)
    expected = {2: _everywhere(_in_order(x), ranks)}
    return RankCase(
        "collectives", "sum_of_all", (ranks, n, 2), ranks, arguments, expected, rounds=2
    )


def send_to_all(ranks: int, n: int) -> RankCase:
    x, root = _random(ranks, n), ranks // 2
    arguments = (Own(x), zeros(ranks, n), words(ranks, BLOCKS), STEP, root)
    expected = {1: _everywhere(x[root], ranks)}
    return RankCase("collectives", "send_to_all", (n,), ranks, arguments, expected)


def ag_gemm(ranks: int, m: int) -> RankCase:
    n, k, rows = m + 30, 2 * m + 3, 32
    a, b = _random(ranks, m, k, dtype=np.float16), _random(ranks, k, n, dtype=np.float16)
    arguments = (
        Own(a), Own(b), zeros(ranks, ranks, m, k, dtype=np.float16),
        words(ranks, ranks * -(-m // rows)), space(ranks, ranks, m, n, dtype=np.float16), STEP,
    )  # fmt: skip
    exact = a.reshape(1, ranks, m, k).astype(np.float64) @ b[:, None].astype(np.float64)
    return RankCase(
        "ag_gemm", "ag_gemm", (ranks, m, n, k, rows, 64, 64, BLOCKS), ranks, arguments,
        {4: exact}, bound=_half(exact),
    )  # fmt: skip


def gemm_rs(ranks: int, m: int) -> RankCase:
    n, k, rows, columns = m + 30, 2 * m + 3, 32, 64
    a, b = _random(ranks, ranks, m, k, dtype=np.float16), _random(ranks, k, n, dtype=np.float16)
    tiles = -(-m // rows) * -(-n // columns)
    arguments = (
        Own(a), Own(b), zeros(ranks, ranks, m, n), words(ranks, ranks * tiles),
        space(ranks, m, n, dtype=np.float16), STEP,
    )  # fmt: skip
    exact = (a.astype(np.float64) @ b[:, None].astype(np.float64)).sum(0)
    return RankCase(
        "gemm_rs", "gemm_rs", (ranks, m, n, k, rows, columns, 64, BLOCKS), ranks, arguments,
        {4: exact}, bound=_half(exact),
    )  # fmt: skip


def _half(exact: np.ndarray) -> float:
    """How far float16 may be from an exact value: half a unit in the last place of the largest,
    and as much again for sums in float32."""
    return float(np.abs(exact).max()) * 2.0**-10


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
}


def case_of(name: str, ranks: int, size: int) -> RankCase:
    make, sizes = EXAMPLES[name]
    return make(ranks, sizes[size])
