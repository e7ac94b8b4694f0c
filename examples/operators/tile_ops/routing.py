"""A mixture of experts: the best few of a row, routing, and the products of experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import tile_frontend as T

from .examples import example
from .manifest import FLOATS, HALVES, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, row_tiles

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def top_k(N: int, K: int, dtype: str, rows: int) -> T.PrimFunc:
    M, accum = T.symbolic("M"), "float32"
    width, most = T.cdiv(N, 32) * 32, T.cdiv(K, 8) * 8

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        values: T.Tensor((M, K), dtype),
        indices: T.Tensor((M, K), "int32"),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            pairs = T.alloc_shared((rows, 2 * most), accum)
            value = T.alloc_shared((rows, most), accum)
            place = T.alloc_shared((rows, most), accum)
            index = T.alloc_shared((rows, most), "int32")
            out = T.alloc_shared((rows, T.cdiv(most, 16) * 16), dtype)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                for i in T.serial(rows):
                    T.tile.topk(pairs[i, :], x[i, :], most, N)
                    T.tile.gather_mask(value[i, :], pairs[i, :], "P0101")
                    T.tile.gather_mask(place[i, :], pairs[i, :], "P1010")
                T.copy(place, index)
                T.copy(value, out[:, 0:most])
                T.copy(out[:, 0:most], values[row, 0])
                T.copy(index, indices[row, 0])

    return kernel


def _top_k_tiles(sizes: Sizes) -> Tiles:
    width = 4 if sizes.dtype() == "float32" else 2
    return row_tiles(sizes.M, -(-sizes.N // 32) * 32 * (2 * width + 4) + 40 * sizes.k + 512, 16)


def _route(s: Sizes, t: Tiles) -> Any:
    return example("top_k_routing").route(s.M, s.D, s.E, s.k, *t, dtype=s.dtype(), packed=False)


def _route_tiles(sizes: Sizes) -> Tiles:
    """Rows so that all cores end together, and steps of the common dimension that divide it."""
    most = 256 if sizes.E <= 64 else 32
    of_core = max(1, -(-sizes.M // (CORES * most)))
    rows = min(most, -(-sizes.M // (CORES * of_core * 16)) * 16)
    return max(16, rows), next(step for step in (256, 128, 64, 32, 16) if sizes.D % step == 0)


def routed(x: torch.Tensor, router: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    scores, chosen = torch.softmax(x @ router, -1).topk(k)
    return scores / scores.sum(-1, keepdim=True), chosen


def grouped(x: torch.Tensor, w: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    parts = torch.split(x, sizes.tolist())
    return torch.cat([a @ b for a, b in zip(parts, w, strict=True)])


def make_groups(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Tokens of each expert; the first has most of the rest, the last may have none."""
    (experts,) = shape
    counts = torch.full((experts,), sizes.M // (experts + 1))
    counts[-1] = 0
    counts[0] += sizes.M - counts.sum()
    return counts.to(dtype)


def make_spread(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Numbers that differ in each row, so that the best ones are the same everywhere."""
    ranks = torch.rand(tuple(shape)).argsort(-1)
    if dtype is torch.bfloat16:  # has 8 bits for a value: neighbours by their bits, from 1 on
        return (ranks + 0x3F80).to(torch.int16).view(dtype)
    return ranks.to(dtype) / 8


OPERATORS = (
    operator(
        "top_k(x: T[M, N], k: int = 8) -> T[M, k], int32[M, k]", {"T": FLOATS},
        kernel=lambda s, t: top_k(s.N, s.k, s.dtype(), *t), tiles=_top_k_tiles,
        choices=lambda s: [(2,), (4,), (8,), (16,)],
        reference=lambda x, k: tuple(x.topk(k)), make={"x": make_spread},
        rules=(
            Rule("k >= 1", "ask for at least one"), Rule("k <= N", "a row has no more"),
            Rule("N <= 4096", "sort parts of the row first"), Rule("k <= 512", "ask for fewer"),
        ),
        workload=Case((), {"M": 16384, "N": 256, "k": 8, "T": "float16"}),
        remark="the unit sorts 0.8 elements a cycle, and sorting counts as no operation: a row of "
        "256 takes about 600 cycles",
        cases=(
            Case((), {"M": 1, "N": 1, "k": 1}), Case((), {"M": 53, "N": 160, "k": 6}),
            Case((), {"M": 20, "N": 1000, "k": 33}),
        ),
        summary="the k largest of each row, largest first, and their columns",
        tolerance={"float16": 0.0, "bfloat16": 0.0, "float32": 0.0},
    ),
    operator(
        "top_k_routing(x: T[M, D], router: T[D, E], k: int = 8) -> float32[M, k], int32[M, k]",
        {"T": HALVES}, kernel=_route, tiles=_route_tiles,
        choices=lambda s: [(64, 256), (128, 128), (128, 256), (176, 256)], reference=routed,
        rules=(
            Rule("k >= 1", "ask for at least one"), Rule("k <= E", "there are no more experts"),
            Rule("E % 16 == 0", "experts are columns of a product: pad them to 16"),
            Rule("E <= 256", "route in two steps"), Rule("D % 16 == 0", "pad the columns"),
            Rule("D >= 16", "a token must have elements"),
        ),
        workload=Case((), {"M": 4096, "D": 4096, "E": 64, "k": 8, "T": "float16"}),
        cases=(
            Case((), {"M": 1, "D": 16, "E": 16, "k": 1}),
            Case((), {"M": 77, "D": 128, "E": 160, "k": 6}),
        ),
        summary="the experts of each token, and weights that sum to one",
        tolerance={"float16": 1e-5, "bfloat16": 1e-5},
    ),
    operator(
        "grouped_gemm(x: T[M, K], w: T[E, K, N], sizes: int32[E]) -> T[M, N]", {"T": HALVES},
        kernel=lambda s, t: example("grouped_gemm").grouped_gemm(
            T.symbolic("M"), s.E, s.N, s.K, *t, dtype=s.dtype()
        ),
        tiles=lambda s: (128, 256 if s.N >= 256 else 128, 64),
        choices=lambda s: [(128, 128, 64), (128, 256, 64), (64, 256, 64)], reference=grouped,
        rules=(
            Rule("K >= 1", "a product needs a common dimension of at least 1"),
            Rule("E >= 1", "there must be an expert"),
        ),
        make={"sizes": make_groups}, bound="matrix units",
        workload=Case((), {"M": 3072, "E": 8, "N": 2048, "K": 1024, "T": "float16"}),
        cases=(
            Case((), {"M": 5, "E": 2, "N": 32, "K": 16}),
            Case((), {"M": 300, "E": 5, "N": 200, "K": 100}),
        ),
        summary="rows sorted by expert, each with the weights of its own",
    ),
)  # fmt: skip
