"""Multi-head latent attention of one new token, in developer style.

All heads share one latent row of D numbers a position, which is key and value at once, and R
numbers of rotated key beside it. The result is as wide as the latent row, too wide for one
accumulator next to the scores: it is made in parts of columns.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


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


def main() -> None:
    torch.manual_seed(0)
    for B, H, S, D, R, block_H, block_N in (
        (2, 128, 512, 512, 64, 64, 128),
        (1, 32, 300, 512, 64, 32, 64),
    ):
        q, kv = torch.randn(B, H, D).half(), torch.randn(B, S, D).half()
        q_rope, k_rope = torch.randn(B, H, R).half(), torch.randn(B, S, R).half()
        keys = torch.cat([kv, k_rope], -1).float()
        scores = torch.cat([q, q_rope], -1).float() @ keys.mT / math.sqrt(D + R)
        run_and_report(
            f"latent attention, {B} sequences of {S}, {H} heads of {D} and {R} float16",
            lambda B=B, H=H, S=S, D=D, R=R, block_H=block_H, block_N=block_N: latent_attention(
                B, H, S, D, R, block_H, block_N
            ),
            [q, q_rope, kv, k_rope],
            torch.softmax(scores, -1) @ kv.float(),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
