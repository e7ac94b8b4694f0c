"""Multi-head latent attention of one new token, in developer style.

All heads share one latent row of D numbers a position, which is key and value at once, and R
numbers of rotated key beside it. The result is as wide as the latent row, too wide for one
accumulator next to the scores: it is made in parts of columns.

`latent_attention` keeps a tile of rows on chip from the scores to the result. Many heads make a
result so large that handing it on takes longest: `attention_of_many_heads` takes more keys before
it does, and loads rows a second time for their values. Every other core begins later there, so that
half of them load keys from HBM while the others find values in L2.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Where there are many heads: scores that a vector core takes at a time, keys whose values are
# loaded at a time, and such loads that every other core begins later by.
FLOATS = 8192
KEYS = 128
LATER = 16


@T.macro
def weigh(
    s: T.Tensor, before: T.Tensor, peak: T.Tensor, c: T.int32, scale: float, rows: int, block_N: int
) -> None:
    """s = exp(scale * (s - peak)) with the new peaks of the rows."""
    T.reduce_max(s, peak[c, :], dim=-1)
    for i in T.Parallel(rows):
        peak[c, i] = T.max(peak[c, i], before[c, i])
    for i, j in T.Parallel(rows, block_N):
        s[i, j] = T.exp((s[i, j] - peak[c, i]) * scale)


@T.macro
def shrink_totals(
    total: T.Tensor, row_sum: T.Tensor, before: T.Tensor, peak: T.Tensor, shrink: T.Tensor,
    scale: float, chunks: int, rows: int,
) -> None:  # fmt: skip
    """What sums of older peaks shrink by, and the sums of all weights so far."""
    for c, i in T.Parallel(chunks, rows):
        shrink[c, i] = T.exp((before[c, i] - peak[c, i]) * scale)
    for c, i in T.Parallel(chunks, rows):
        total[c, i] = total[c, i] * shrink[c, i] + row_sum[c, i]


@T.jit(out_idx=[4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def latent_attention(
    B: int, H: int, S: int, D: int, R: int, block_H: int, block_N: int, parts: int = 4,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    assert H % block_H == 0 and D % parts == 0, "tiles cover all heads and values"
    head_tiles = H // block_H
    scale = 1.0 / math.sqrt(D + R)
    width = D // parts

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, D), dtype),
        Q_rope: T.Tensor((B, H, R), dtype),
        KV: T.Tensor((B, S, D), dtype),
        K_rope: T.Tensor((B, S, R), dtype),
        Output: T.Tensor((B, H, D), dtype),
    ) -> None:
        with T.Kernel(B * head_tiles, threads=2, is_npu=True) as cid:
            batch = cid // head_tiles
            head = cid % head_tiles * block_H
            q = T.alloc_shared((block_H, D), dtype)
            q_rope = T.alloc_shared((block_H, R), dtype)
            kv = T.alloc_shared((block_N, D), dtype)
            k_rope = T.alloc_shared((block_N, R), dtype)
            scores = T.alloc_fragment((block_H, block_N), accum)
            partial = T.alloc_fragment((block_H, width), accum)
            s = T.alloc_shared((block_H, block_N), accum)
            p = T.alloc_shared((block_H, block_N), dtype)
            weights = T.alloc_shared((block_H, block_N), dtype)
            part = T.alloc_shared((block_H, width), accum)
            o = T.alloc_shared((block_H, D), accum)
            out = T.alloc_shared((block_H, D), dtype)
            peak, shrink, total, row_sum = [T.alloc_shared((block_H,), accum) for _ in range(4)]

            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[batch, head : head + block_H, :], q)
            T.copy(Q_rope[batch, head : head + block_H, :], q_rope)
            for n in T.Pipelined(T.ceildiv(S, block_N), num_stages=2):
                T.copy(KV[batch, n * block_N : (n + 1) * block_N, :], kv)
                T.copy(K_rope[batch, n * block_N : (n + 1) * block_N, :], k_rope)
                T.gemm_v0(q, kv, scores, transpose_B=True, init=True)
                T.gemm_v0(q_rope, k_rope, scores, transpose_B=True)
                T.copy(scores, s)
                for i, j in T.Parallel(block_H, block_N):
                    s[i, j] = T.if_then_else(n * block_N + j < S, s[i, j] * scale, -1e30)
                T.copy(peak, shrink)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(block_H):
                    peak[i] = T.max(peak[i], shrink[i])
                    shrink[i] = T.exp(shrink[i] - peak[i])
                for i, j in T.Parallel(block_H, block_N):
                    s[i, j] = T.exp(s[i, j] - peak[i])
                T.copy(s, p)
                T.copy(p, weights)
                T.reduce_sum(s, row_sum, dim=-1)
                for i in T.Parallel(block_H):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                for c in range(parts):
                    T.gemm_v0(weights, kv[:, c * width : (c + 1) * width], partial, init=True)
                    T.copy(partial, part)
                    for i, j in T.Parallel(block_H, width):
                        o[i, c * width + j] = o[i, c * width + j] * shrink[i] + part[i, j]
            for i, j in T.Parallel(block_H, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, out)
            T.copy(out, Output[batch, head : head + block_H, :])

    return attention


@T.jit(out_idx=[4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def attention_of_many_heads(
    B: int, H: int, S: int, D: int, R: int, block_H: int, block_N: int, parts: int = 4,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    assert H % block_H == 0 and D % parts == 0, "tiles cover all heads and values"
    assert S % block_N == 0 and block_N % min(block_N, KEYS) == 0, "tiles cover all keys"
    head_tiles, width, part_N = H // block_H, D // parts, min(block_N, KEYS)
    scale = 1.0 / math.sqrt(D + R)
    rows = min(block_H, FLOATS // block_N)
    chunks = block_H // rows

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, D), dtype),
        Q_rope: T.Tensor((B, H, R), dtype),
        KV: T.Tensor((B, S, D), dtype),
        K_rope: T.Tensor((B, S, R), dtype),
        Output: T.Tensor((B, H, D), dtype),
    ) -> None:
        with T.Kernel(B * head_tiles, threads=2, is_npu=True) as cid:
            batch = cid // head_tiles
            head = cid % head_tiles * block_H
            q = T.alloc_shared((block_H, D + R), dtype)
            k = T.alloc_shared((block_N, D + R), dtype)
            v = T.alloc_shared((part_N, width), dtype)
            weights = T.alloc_shared((block_H, block_N), dtype)
            scores = T.alloc_fragment((block_H, block_N), accum)
            partial = T.alloc_fragment((block_H, width), accum)
            s = T.alloc_shared((rows, block_N), accum)
            p = T.alloc_shared((rows, block_N), dtype)
            part = T.alloc_shared((rows, width), accum)
            o = T.alloc_shared((chunks, rows, D), accum)
            out = T.alloc_shared((rows, D), dtype)
            before, peak, shrink, total, row_sum = [
                T.alloc_shared((chunks, rows), accum) for _ in range(5)
            ]

            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[batch, head : head + block_H, :], q[:, :D])
            T.copy(Q_rope[batch, head : head + block_H, :], q[:, D:])
            if cid % 2 == 1:
                for j in T.serial(LATER):
                    at = j * part_N % S
                    T.copy(KV[batch, at : at + part_N, :width], v)
            for n in T.Pipelined(S // block_N, num_stages=2):
                first = n * block_N
                T.copy(KV[batch, first : first + block_N, :], k[:, :D])
                T.copy(K_rope[batch, first : first + block_N, :], k[:, D:])
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(peak, before)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(scores[c * rows : (c + 1) * rows, :], s)
                    weigh(s, before, peak, c, scale, rows, block_N)
                    T.copy(s, p)
                    T.copy(p, weights[c * rows : (c + 1) * rows, :])
                    T.reduce_sum(s, row_sum[c, :], dim=-1)
                shrink_totals(total, row_sum, before, peak, shrink, scale, chunks, rows)
                for d in T.Pipelined(parts, num_stages=2):
                    left = d * width
                    for j in T.Pipelined(block_N // part_N, num_stages=3):
                        at = n * block_N + j * part_N
                        T.copy(KV[batch, at : at + part_N, left : left + width], v)
                        chosen = weights[:, j * part_N : (j + 1) * part_N]
                        T.gemm_v0(chosen, v, partial, init=j == 0)
                    for c in T.Pipelined(chunks, num_stages=2):
                        T.copy(partial[c * rows : (c + 1) * rows, :], part)
                        for i, j in T.Parallel(rows, width):
                            o[c, i, left + j] = o[c, i, left + j] * shrink[c, i] + part[i, j]
            for c in T.serial(chunks):
                for i, j in T.Parallel(rows, D):
                    o[c, i, j] = o[c, i, j] / total[c, i]
                T.copy(o[c, :, :], out)
                T.copy(out, Output[batch, head + c * rows : head + (c + 1) * rows, :])

    return attention


def main() -> None:
    torch.manual_seed(0)
    for build, B, H, S, D, R, block_H, block_N in (
        (latent_attention, 2, 128, 512, 512, 64, 64, 128),
        (latent_attention, 1, 32, 300, 512, 64, 32, 64),
        (attention_of_many_heads, 2, 128, 512, 512, 64, 128, 256),
    ):
        q, kv = torch.randn(B, H, D).half(), torch.randn(B, S, D).half()
        q_rope, k_rope = torch.randn(B, H, R).half(), torch.randn(B, S, R).half()
        keys = torch.cat([kv, k_rope], -1).float()
        scores = torch.cat([q, q_rope], -1).float() @ keys.mT / math.sqrt(D + R)
        sizes = B, H, S, D, R, block_H, block_N
        run_and_report(
            f"latent attention, {B} sequences of {S}, {H} heads of {D} and {R} float16",
            lambda build=build, sizes=sizes: build(*sizes),
            [q, q_rope, kv, k_rope],
            torch.softmax(scores, -1) @ kv.float(),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
