"""The kernels of the gradients of attention, one for queries and one for keys and values.

They compute the weights again from the logarithms of the sums: they need no running maximum, and
add up on the cube core. A tile without a key or query that counts adds zeros.
"""

from __future__ import annotations

from typing import Any

import tile_frontend as T

from .key_masks import fill_gaps, hide_keys
from .tiles import CORES

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def end_of_keys(last: Any, L: Any, causal: bool, block_N: int) -> Any:
    """Tiles of keys that a tile of queries needs, whose last one is `last - 1`."""
    every = T.ceildiv(L, block_N)
    return T.min(T.ceildiv(last, block_N), every) if causal else every


def place_of_tile(item: Any, heads: int, batches: Any) -> Any:
    """Return batch, head and tile of an item of work."""
    every = batches * heads
    return item % every // heads, item % every % heads, item // every


@T.macro
def weigh_again(
    s: T.Tensor, d: T.Tensor, sums: T.Tensor, deltas: T.Tensor, scale: float, rows: int,
    columns: int,
) -> None:  # fmt: skip
    """Turn scores into weights, and gradients of weights into those of scores."""
    for i, j in T.Parallel(rows, columns):
        s[i, j] = T.exp(s[i, j] * scale - sums[i])
    for i, j in T.Parallel(rows, columns):
        d[i, j] = (d[i, j] - deltas[i]) * s[i, j] * scale


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def attention_query_gradient(
    H: int, G: int, D: int, scale: float, causal: bool, window: int, dtype: str,
    block_M: int, block_N: int,
) -> T.PrimFunc:  # fmt: skip
    batches, S, L = T.symbolic("batches"), T.symbolic("S"), T.symbolic("L")
    accum, columns = "float32", min(block_M, block_N)

    @T.prim_func
    def kernel(
        grad: T.Tensor((batches, H, S, D), dtype),
        Q: T.Tensor((batches, H, S, D), dtype),
        K: T.Tensor((batches, G, L, D), dtype),
        V: T.Tensor((batches, G, L, D), dtype),
        logsum: T.Tensor((batches, H, S), accum),
        delta: T.Tensor((batches, H, S), accum),
        DQ: T.Tensor((batches, H, S, D), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((block_M, D), dtype)
            g = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((block_N, D), dtype)
            slopes = T.alloc_shared((block_M, block_N), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            products = T.alloc_fragment((block_M, block_N), accum)
            total = T.alloc_fragment((block_M, D), accum)
            s = T.alloc_shared((block_M, block_N), accum)
            d = T.alloc_shared((block_M, block_N), accum)
            p = T.alloc_shared((block_M, block_N), dtype)
            sums = T.alloc_shared((block_M,), accum)
            deltas = T.alloc_shared((block_M,), accum)
            gaps = T.alloc_shared((block_M, columns), accum)
            ends = T.alloc_shared((block_N,), accum)
            if causal:
                fill_gaps(gaps, ends, block_M, columns)
            tiles = T.ceildiv(S, block_M)
            for t in T.serial(T.ceildiv(batches * H * tiles - cid, CORES)):
                # Long rows of a causal mask come first.
                batch, head, tile = place_of_tile(t * CORES + cid, H, batches)
                first = (tiles - 1 - tile) * block_M
                begin = T.max(first - window + 1, 0) // block_N if window > 0 else 0
                end = end_of_keys(first + block_M, L, causal, block_N)
                T.copy(Q[batch, head, first : first + block_M, :], q)
                T.copy(grad[batch, head, first : first + block_M, :], g)
                T.copy(logsum[batch, head, first : first + block_M], sums)
                T.copy(delta[batch, head, first : first + block_M], deltas)
                for n in T.Pipelined(T.max(end - begin, 1), num_stages=3):
                    key = (begin + n) * block_N
                    T.copy(K[batch, head // (H // G), key : key + block_N, :], k)
                    T.copy(V[batch, head // (H // G), key : key + block_N, :], v)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.gemm_v0(g, v, products, transpose_B=True, init=True)
                    T.copy(scores, s)
                    T.copy(products, d)
                    hide_keys(
                        s, gaps, ends, first, key, L, causal, window, block_M, block_N, columns
                    )
                    weigh_again(s, d, sums, deltas, scale, block_M, block_N)
                    T.copy(d, p)
                    T.copy(p, slopes)
                    T.gemm_v0(slopes, k, total, init=(n == 0))
                T.copy(total, DQ[batch, head, first : first + block_M, :])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def attention_key_gradients(
    H: int, G: int, D: int, scale: float, causal: bool, window: int, dtype: str,
    block_M: int, block_N: int,
) -> T.PrimFunc:  # fmt: skip
    batches, S, L = T.symbolic("batches"), T.symbolic("S"), T.symbolic("L")
    accum, shared, columns = "float32", H // G, min(block_M, block_N)

    @T.prim_func
    def kernel(
        grad: T.Tensor((batches, H, S, D), dtype),
        Q: T.Tensor((batches, H, S, D), dtype),
        K: T.Tensor((batches, G, L, D), dtype),
        V: T.Tensor((batches, G, L, D), dtype),
        logsum: T.Tensor((batches, H, S), accum),
        delta: T.Tensor((batches, H, S), accum),
        DK: T.Tensor((batches, G, L, D), dtype),
        DV: T.Tensor((batches, G, L, D), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((block_M, D), dtype)
            g = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((block_N, D), dtype)
            slopes = T.alloc_shared((block_M, block_N), dtype)
            weights = T.alloc_shared((block_M, block_N), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            products = T.alloc_fragment((block_M, block_N), accum)
            of_key = T.alloc_fragment((block_N, D), accum)
            of_value = T.alloc_fragment((block_N, D), accum)
            s = T.alloc_shared((block_M, block_N), accum)
            d = T.alloc_shared((block_M, block_N), accum)
            p = T.alloc_shared((block_M, block_N), dtype)
            slope = T.alloc_shared((block_M, block_N), dtype)
            sums = T.alloc_shared((block_M,), accum)
            deltas = T.alloc_shared((block_M,), accum)
            gaps = T.alloc_shared((block_M, columns), accum)
            ends = T.alloc_shared((block_N,), accum)
            if causal:
                fill_gaps(gaps, ends, block_M, columns)
            tiles = T.ceildiv(L, block_N)
            for t in T.serial(T.ceildiv(batches * G * tiles - cid, CORES)):
                batch, head, tile = place_of_tile(t * CORES + cid, G, batches)
                key = tile * block_N
                begin = key // block_M if causal else 0
                last = T.min(key + block_N + window - 1, S) if window > 0 else S
                steps = T.max(T.ceildiv(last, block_M) - begin, 1)  # with no query, of zeros
                T.copy(K[batch, head, key : key + block_N, :], k)
                T.copy(V[batch, head, key : key + block_N, :], v)
                for n in T.Pipelined(steps * shared, num_stages=3):
                    query = head * shared + n // steps
                    first = (begin + n % steps) * block_M
                    T.copy(Q[batch, query, first : first + block_M, :], q)
                    T.copy(grad[batch, query, first : first + block_M, :], g)
                    T.copy(logsum[batch, query, first : first + block_M], sums)
                    T.copy(delta[batch, query, first : first + block_M], deltas)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.gemm_v0(g, v, products, transpose_B=True, init=True)
                    T.copy(scores, s)
                    T.copy(products, d)
                    hide_keys(
                        s, gaps, ends, first, key, L, causal, window, block_M, block_N, columns
                    )
                    weigh_again(s, d, sums, deltas, scale, block_M, block_N)
                    T.copy(s, p)
                    T.copy(p, weights)
                    T.copy(d, slope)
                    T.copy(slope, slopes)
                    T.gemm_v0(weights, g, of_value, transpose_A=True, init=(n == 0))
                    T.gemm_v0(slopes, q, of_key, transpose_A=True, init=(n == 0))
                T.copy(of_key, DK[batch, head, key : key + block_N, :])
                T.copy(of_value, DV[batch, head, key : key + block_N, :])

    return kernel
