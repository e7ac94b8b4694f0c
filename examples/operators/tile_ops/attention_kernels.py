"""The kernels of attention: flash attention with grouped queries, and its gradients.

One loop over the keys of a tile of queries, with a running maximum and sum. Under a causal mask or
a window, tiles without a key that counts are left out. The gradients make the weights again from
the logarithms of the sums; theirs need no running maximum, so that they stay on the cube core.
"""

from __future__ import annotations

from typing import Any

import tile_frontend as T

from .tiles import CORES

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
HIDDEN = -1e30  # the score of a key that does not count


@T.macro
def hide_keys(
    s: T.Tensor, query: T.int32, key: T.int32, L: T.int32, causal: bool, window: int,
    block_M: int, block_N: int,
) -> None:  # fmt: skip
    """Hide keys behind the last one, behind the query, and those before the window."""
    if key + block_N > L:
        for i, j in T.Parallel(block_M, block_N):
            s[i, j] = T.if_then_else(key + j < L, s[i, j], HIDDEN)
    if causal:  # noqa: SIM102 - known while compiling
        if key + block_N > query + 1:
            for i, j in T.Parallel(block_M, block_N):
                s[i, j] = T.if_then_else(j > i + (query - key), HIDDEN, s[i, j])
    if window > 0:  # noqa: SIM102 - known while compiling
        if key < query + block_M - window:
            for i, j in T.Parallel(block_M, block_N):
                s[i, j] = T.if_then_else(j <= i + (query - key - window), HIDDEN, s[i, j])


def end_of_keys(last: Any, L: Any, causal: bool, block_N: int) -> Any:
    """Tiles of keys that a tile of queries needs, whose last one is `last - 1`."""
    every = T.ceildiv(L, block_N)
    return T.min(T.ceildiv(last, block_N), every) if causal else every


@T.jit(out_idx=[3, 4], pass_configs=AUTOMATIC)
def attention(
    H: int, G: int, D: int, scale: float, causal: bool, window: int, dtype: str,
    block_M: int, block_N: int,
) -> T.PrimFunc:  # fmt: skip
    batches, S, L = T.symbolic("batches"), T.symbolic("S"), T.symbolic("L")
    accum = "float32"

    @T.prim_func
    def kernel(
        Q: T.Tensor((batches, H, S, D), dtype),
        K: T.Tensor((batches, G, L, D), dtype),
        V: T.Tensor((batches, G, L, D), dtype),
        Output: T.Tensor((batches, H, S, D), dtype),
        logsum: T.Tensor((batches, H, S), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((block_N, D), dtype)
            weights = T.alloc_shared((block_M, block_N), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            product = T.alloc_fragment((block_M, D), accum)
            s = T.alloc_shared((block_M, block_N), accum)
            p = T.alloc_shared((block_M, block_N), dtype)
            part = T.alloc_shared((block_M, D), accum)
            o = T.alloc_shared((block_M, D), accum)
            out = T.alloc_shared((block_M, D), dtype)
            before = T.alloc_shared((block_M,), accum)
            peak = T.alloc_shared((block_M,), accum)
            shrink = T.alloc_shared((block_M,), accum)
            total = T.alloc_shared((block_M,), accum)
            fresh = T.alloc_shared((block_M,), accum)
            tiles = T.ceildiv(S, block_M)
            for t in T.serial(T.ceildiv(batches * H * tiles - cid, CORES)):
                # Long rows of a causal mask come first.
                tile = tiles - 1 - (t * CORES + cid) // (batches * H)
                head = (t * CORES + cid) % (batches * H) % H
                batch = (t * CORES + cid) % (batches * H) // H
                first = tile * block_M
                begin = T.max(first - window + 1, 0) // block_N if window > 0 else 0
                end = end_of_keys(first + block_M, L, causal, block_N)
                T.copy(Q[batch, head, first : first + block_M, :], q)
                T.tile.fill(o, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, HIDDEN)
                for n in T.Pipelined(T.max(end - begin, 0), num_stages=2):
                    at = (begin + n) * block_N
                    T.copy(K[batch, head // (H // G), at : at + block_N, :], k)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.copy(scores, s)
                    hide_keys(s, first, at, L, causal, window, block_M, block_N)
                    T.copy(peak, before)
                    T.reduce_max(s, peak, dim=-1)
                    for i in T.Parallel(block_M):
                        peak[i] = T.max(peak[i], before[i])
                        shrink[i] = T.exp((before[i] - peak[i]) * scale)
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.exp((s[i, j] - peak[i]) * scale)
                    T.copy(s, p)
                    T.copy(p, weights)
                    T.reduce_sum(s, fresh, dim=-1)
                    for i in T.Parallel(block_M):
                        total[i] = total[i] * shrink[i] + fresh[i]
                    T.copy(V[batch, head // (H // G), at : at + block_N, :], v)
                    T.gemm_v0(weights, v, product, init=True)
                    T.copy(product, part)
                    for i, j in T.Parallel(block_M, D):
                        o[i, j] = o[i, j] * shrink[i] + part[i, j]
                for i, j in T.Parallel(block_M, D):
                    o[i, j] = o[i, j] / total[i]
                for i in T.Parallel(block_M):
                    peak[i] = peak[i] * scale + T.log(total[i])
                T.copy(o, out)
                T.copy(out, Output[batch, head, first : first + block_M, :])
                T.copy(peak, logsum[batch, head, first : first + block_M])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def attention_query_gradient(
    H: int, G: int, D: int, scale: float, causal: bool, window: int, dtype: str,
    block_M: int, block_N: int,
) -> T.PrimFunc:  # fmt: skip
    batches, S, L = T.symbolic("batches"), T.symbolic("S"), T.symbolic("L")
    accum = "float32"

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
            tiles = T.ceildiv(S, block_M)
            for t in T.serial(T.ceildiv(batches * H * tiles - cid, CORES)):
                tile = tiles - 1 - (t * CORES + cid) // (batches * H)
                head = (t * CORES + cid) % (batches * H) % H
                batch = (t * CORES + cid) % (batches * H) // H
                first = tile * block_M
                begin = T.max(first - window + 1, 0) // block_N if window > 0 else 0
                end = end_of_keys(first + block_M, L, causal, block_N)
                T.copy(Q[batch, head, first : first + block_M, :], q)
                T.copy(grad[batch, head, first : first + block_M, :], g)
                T.copy(logsum[batch, head, first : first + block_M], sums)
                T.copy(delta[batch, head, first : first + block_M], deltas)
                for n in T.Pipelined(T.max(end - begin, 0), num_stages=2):
                    at = (begin + n) * block_N
                    T.copy(K[batch, head // (H // G), at : at + block_N, :], k)
                    T.copy(V[batch, head // (H // G), at : at + block_N, :], v)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.gemm_v0(g, v, products, transpose_B=True, init=True)
                    T.copy(scores, s)
                    T.copy(products, d)
                    hide_keys(s, first, at, L, causal, window, block_M, block_N)
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.exp(s[i, j] * scale - sums[i])
                    for i, j in T.Parallel(block_M, block_N):
                        d[i, j] = (d[i, j] - deltas[i]) * s[i, j] * scale
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
    accum, shared = "float32", H // G

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
            r = T.alloc_shared((block_M, block_N), dtype)
            sums = T.alloc_shared((block_M,), accum)
            deltas = T.alloc_shared((block_M,), accum)
            tiles = T.ceildiv(L, block_N)
            for t in T.serial(T.ceildiv(batches * G * tiles - cid, CORES)):
                tile = (t * CORES + cid) // (batches * G)
                head = (t * CORES + cid) % (batches * G) % G
                batch = (t * CORES + cid) % (batches * G) // G
                at = tile * block_N
                begin = at // block_M if causal else 0
                last = T.min(at + block_N + window - 1, S) if window > 0 else S
                steps = T.max(T.ceildiv(last, block_M) - begin, 0)
                T.copy(K[batch, head, at : at + block_N, :], k)
                T.copy(V[batch, head, at : at + block_N, :], v)
                for n in T.Pipelined(steps * shared, num_stages=2):
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
                    hide_keys(s, first, at, L, causal, window, block_M, block_N)
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.exp(s[i, j] * scale - sums[i])
                    T.copy(s, p)
                    T.copy(p, weights)
                    for i, j in T.Parallel(block_M, block_N):
                        d[i, j] = (d[i, j] - deltas[i]) * s[i, j] * scale
                    T.copy(d, r)
                    T.copy(r, slopes)
                    T.gemm_v0(weights, g, of_value, transpose_A=True, init=(n == 0))
                    T.gemm_v0(slopes, q, of_key, transpose_A=True, init=(n == 0))
                T.copy(of_key, DK[batch, head, at : at + block_N, :])
                T.copy(of_value, DV[batch, head, at : at + block_N, :])

    return kernel
