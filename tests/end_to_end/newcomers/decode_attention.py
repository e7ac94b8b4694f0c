"""One new token of each sequence attends to its cache, as far as the cache is filled."""

from __future__ import annotations

import math

import torch

import tile_frontend as T

SMALL = (
    {"batch": 3, "H": 8, "kv": 2, "S": 200, "D": 64},
    {"batch": 2, "H": 32, "kv": 2, "S": 128, "D": 128},
)
LARGE = {"batch": 12, "H": 64, "kv": 8, "S": 4096, "D": 128}
TOLERANCE = 4e-3


@T.jit(out_idx=[-1])
def kernel(batch, H, kv, S, D, block=128):
    groups = H // kv
    rows = T.cdiv(groups, 16) * 16
    scale = 1.0 / math.sqrt(D)

    @T.prim_func
    def decode_attention(
        Q: T.Tensor((batch, kv, groups, D), "float16"),
        K: T.Tensor((batch, kv, S, D), "float16"),
        V: T.Tensor((batch, kv, S, D), "float16"),
        lengths: T.Tensor((batch,), "int32"),
        Y: T.Tensor((batch, kv, groups, D), "float16"),
    ):
        with T.Kernel(batch * kv, threads=2, is_npu=True) as cid:
            sequence, head = cid // kv, cid % kv
            q = T.alloc_shared((rows, D), "float16")
            k = T.alloc_shared((block, D), "float16")
            v = T.alloc_shared((block, D), "float16")
            scores = T.alloc_fragment((rows, block), "float32")
            partial = T.alloc_fragment((rows, D), "float32")
            s = T.alloc_shared((rows, block), "float32")
            p = T.alloc_shared((rows, block), "float16")
            weights = T.alloc_shared((rows, block), "float16")
            part = T.alloc_shared((rows, D), "float32")
            o = T.alloc_shared((rows, D), "float32")
            out = T.alloc_shared((rows, D), "float16")
            peak = T.alloc_shared((rows,), "float32")
            old = T.alloc_shared((rows,), "float32")
            total = T.alloc_shared((rows,), "float32")
            here = T.alloc_shared((rows,), "float32")
            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[sequence, head, 0, 0], q)
            length = lengths[sequence]
            for n in T.serial(T.ceildiv(length, block)):
                T.copy(K[sequence, head, n * block, 0], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                for i, j in T.Parallel(rows, block):
                    s[i, j] = T.if_then_else(n * block + j < length, s[i, j] * scale, -1e30)
                T.copy(peak, old)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(rows):
                    peak[i] = T.max(peak[i], old[i])
                    old[i] = T.exp(old[i] - peak[i])
                for i, j in T.Parallel(rows, block):
                    s[i, j] = T.exp(s[i, j] - peak[i])
                T.reduce_sum(s, here, dim=-1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * old[i] + here[i]
                T.copy(s, p)
                T.copy(p, weights)
                T.copy(V[sequence, head, n * block, 0], v)
                T.gemm_v0(weights, v, partial, init=True)
                T.copy(partial, part)
                for i, j in T.Parallel(rows, D):
                    o[i, j] = o[i, j] * old[i] + part[i, j]
            for i, j in T.Parallel(rows, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, out)
            T.copy(out, Y[sequence, head, 0, 0])

    return decode_attention


def inputs(batch, H, kv, S, D):
    lengths = torch.tensor([max(1, S - 37 * i) for i in range(batch)], dtype=torch.int32)
    cache = [torch.randn(batch, kv, S, D).half() for _ in range(2)]
    return [torch.randn(batch, kv, H // kv, D).half(), *cache, lengths]


def expected(q, k, v, lengths):
    seen = torch.arange(k.shape[2])[None, :] < lengths[:, None]
    y = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), attn_mask=seen[:, None, None, :]
    )
    return [y.half()]
