"""Attention for training: causal or not, with grouped queries, over all keys or a window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

import tile_frontend as T

from .attention_gradients import attention_key_gradients, attention_query_gradient
from .attention_kernels import attention
from .manifest import FLOATS, HALVES, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, nearby_rows, padded, row_tiles, widest


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def row_dots(N: int, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), Y: T.Tensor((M,), accum)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw_a = T.alloc_shared((rows, width), dtype)
            raw_b = T.alloc_shared((rows, width), dtype)
            a = T.alloc_shared((rows, width), accum)
            b = T.alloc_shared((rows, width), accum)
            total = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(A[row, 0], raw_a)
                T.copy(B[row, 0], raw_b)
                T.copy(raw_a, a)
                T.copy(raw_b, b)
                for i, j in T.Parallel(rows, width):
                    a[i, j] = a[i, j] * b[i, j]
                T.reduce_sum(a, total, dim=-1)
                T.copy(total, Y[row : row + rows])

    return kernel


def _row_tiles(sizes: Sizes) -> Tiles:
    width = 4 if sizes.dtype() == "float32" else 2
    return row_tiles(sizes.rows, padded(sizes.N) * (4 * width + 8), 128)


def _tiles(sizes: Sizes) -> Tiles:
    """128 queries, or as many as there are; wide heads take fewer. Many keys at a time are worth
    it where most of them count for all queries. Rows are what both lanes take at a time."""
    block_M = 128 if sizes.D <= 128 and sizes.S > 64 else 64
    windowed = sizes.values.get("window", 0) > 0
    block_N = 512 if sizes.L >= 4096 and sizes.D <= 128 and not windowed else 128
    return block_M, block_N, min(block_M, SCORES // block_N)


def _choices(sizes: Sizes) -> Sequence[Tiles]:
    """What a sweep compares the choice with."""
    block_M = _tiles(sizes)[0]
    return [(block_M, n, min(block_M, SCORES // n)) for n in (128, 256, 512)]


def _gradient_tiles(sizes: Sizes) -> Tiles:
    """Four results of products share l0c: wide heads take fewer queries, and fewer keys."""
    if sizes.D > 128:
        return 64, 32
    return 128 if sizes.S > 64 else 64, 64


def _scale(sizes: Sizes) -> float:
    return 1.0 / math.sqrt(sizes.D)


def _hidden(S: int, L: int, causal: bool, window: int) -> torch.Tensor:
    """The keys that do not count for each query."""
    query, key = torch.arange(S)[:, None], torch.arange(L)[None]
    hidden = key > query if causal else torch.zeros(S, L, dtype=torch.bool)
    return hidden | (key <= query - window) if window else hidden


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(_hidden(q.shape[2], k.shape[2], causal, window), -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def gradients(
    grad: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, logsum: torch.Tensor,
    delta: torch.Tensor, causal: bool, window: int,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """In torch, from what the kernels are given."""
    shared = q.shape[1] // k.shape[1]
    wide_k, wide_v = (x.repeat_interleave(shared, 1) for x in (k, v))
    scale = 1.0 / math.sqrt(q.shape[-1])
    weights = (q @ wide_k.mT * scale - logsum[..., None]).exp()
    weights = weights.masked_fill(_hidden(q.shape[2], k.shape[2], causal, window), 0.0)
    slopes = weights * (grad @ wide_v.mT - delta[..., None]) * scale
    of_k, of_v = (slopes.mT @ q, weights.mT @ grad)
    groups = (*k.shape[:2], shared, *k.shape[2:])
    return slopes @ wide_k, of_k.reshape(groups).sum(2), of_v.reshape(groups).sum(2)


def _kernels_of_gradients(s: Sizes, t: Tiles) -> Any:
    arguments = (s.H, s.G, s.D, _scale(s), s.causal, s.window, s.dtype(), *t)
    of_query, of_keys = attention_query_gradient(*arguments), attention_key_gradients(*arguments)
    return lambda *tensors: [of_query(*tensors), *of_keys(*tensors)]


def _backward(grads: Any, inputs: Any, results: Any, causal: bool, window: int = 0) -> Any:
    # Of the logarithm of a sum the slope is the weight itself.
    delta = torch.ops.tile_ops.row_dot(grads[0], results[0]) - grads[1]
    return torch.ops.tile_ops.attention_backward(
        grads[0], *inputs, results[1], delta, causal, window
    )


def make_logsum(sizes: Sizes, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """About that of scores of normal numbers."""
    return torch.full(shape, math.log(sizes.L) + 0.5, dtype=dtype)


SCORES = 16384  # that both lanes take at a time, while the next ones are loaded
QKV = "q: T[B, H, S, D], k: T[B, G, L, D], v: T[B, G, L, D]"
RULES = (
    Rule("H >= 1", "there must be a head of queries"),
    Rule("G >= 1", "there must be a head of keys"),
    Rule("H % G == 0", "each head of keys has as many heads of queries: give H a multiple of G"),
    Rule("L >= 1", "attention needs a key"),
    Rule("D >= 16", "a head must have elements"),
    Rule("D % 16 == 0", "heads are products of 16 columns: pad them with zeros"),
    Rule("D <= 256", "the tiles of wider heads do not fit"),
)
SIZES = ("B", "H", "G", "S", "L", "D", "causal")


def _case(*values: Any, **more: Any) -> Case:
    return Case((), {**dict(zip(SIZES, values, strict=True)), **more})


CASES = (
    _case(1, 1, 1, 1, 1, 64, True), _case(2, 4, 2, 77, 77, 64, True),
    _case(1, 2, 1, 200, 131, 128, False), _case(1, 3, 3, 300, 300, 32, True),
)  # fmt: skip
WINDOWS = (
    _case(1, 1, 1, 5, 5, 64, True, window=2), _case(2, 4, 2, 301, 301, 64, True, window=70),
)  # fmt: skip
LONG = _case(1, 8, 2, 4096, 4096, 128, True, T="float16")
HALF = {"float16": 4e-3, "bfloat16": 3e-2}

OPERATORS = (
    operator(
        f"attention({QKV}, causal: bool = True) -> T[B, H, S, D], float32[B, H, S]", {"T": HALVES},
        kernel=lambda s, t: attention(s.H, s.G, s.D, _scale(s), s.causal, 0, s.dtype(), *t),
        tiles=_tiles, choices=_choices,
        reference=reference, rules=RULES, workload=LONG, cases=CASES, bound="vector units",
        summary="softmax(q @ k.T / sqrt(D)) @ v, and the logarithms of the sums", tolerance=HALF,
        backward=_backward,
    ),
    operator(
        f"window_attention({QKV}, window: int = 1024) -> T[B, H, S, D], float32[B, H, S]",
        {"T": HALVES},
        kernel=lambda s, t: attention(
            s.H, s.G, s.D, _scale(s), True, s.window, s.dtype(), *t
        ),
        tiles=_tiles, choices=_choices,
        reference=lambda q, k, v, window: reference(q, k, v, True, window),
        rules=(
            *RULES, Rule("S == L", "give as many queries as keys"),
            Rule("window >= 1", "a query sees at least itself"),
        ),
        workload=_case(1, 8, 2, 8192, 8192, 128, True, window=1024, T="float16"), cases=WINDOWS,
        bound="vector units", summary="causal attention to the last `window` keys", tolerance=HALF,
        backward=lambda grads, inputs, results, window: _backward(
            grads, inputs, results, True, window
        ),
    ),
    operator(
        f"attention_backward(grad: T[B, H, S, D], {QKV}, logsum: float32[B, H, S],"
        " delta: float32[B, H, S], causal: bool = True, window: int = 0)"
        " -> T[B, H, S, D], T[B, G, L, D], T[B, G, L, D]", {"T": HALVES},
        kernel=_kernels_of_gradients, tiles=_gradient_tiles,
        choices=lambda s: [(64, 32), (64, 64), (128, 32), (128, 64)], reference=gradients,
        rules=RULES,
        make={"logsum": make_logsum}, workload=LONG, cases=(*CASES, *WINDOWS),
        bound="matrix units", summary="the gradients of both", gradient_of="attention",
        remark="both kernels compute the weights again: seven products instead of five, whose "
        "results share l0c",
        tolerance={"float16": 1e-2, "bfloat16": 6e-2},
    ),
    operator(
        "row_dot(a: T[..., N], b: T[..., N]) -> float32[...]", {"T": FLOATS},
        kernel=lambda s, t: row_dots(s.N, s.dtype(), *t), tiles=_row_tiles,
        choices=lambda s: nearby_rows(*_row_tiles(s)), reference=lambda a, b: (a * b).sum(-1),
        rules=(
            Rule("N >= 1", "a row must have an element"),
            Rule(f"N <= {widest(24)}", "a tile holds whole rows: add up parts of them"),
        ),
        workload=Case((16384,), {"N": 4096, "T": "float16"}),
        cases=(Case((3,), {"N": 1}), Case((2, 9), {"N": 333}), Case((200,), {"N": 128})),
        summary="the sum of a * b along rows, in float32",
        backward=lambda grads, inputs, results: [
            (grads[0][..., None] * other.float()).to(other.dtype) for other in inputs[::-1]
        ],
        tolerance={"float16": 2e-5, "bfloat16": 2e-5},
    ),
)  # fmt: skip
