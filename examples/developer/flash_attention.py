"""Flash attention in developer style: plain, causal, and with grouped queries.

One program for the cube core and both vector cores: products go to the vector cores by a copy, and
probabilities back by another; masks are comparisons of positions. 05_flash_attention.py is the same
algorithm with memories, scopes, workspaces and flags by hand.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[3], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def flash_attention(
    B: int, H: int, S: int, D: int, block_M: int, block_N: int, groups: int = 1,
    causal: bool = False, dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:
    query_tiles = S // block_M
    scale = 1.0 / math.sqrt(D)

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H // groups, S, D), dtype),
        V: T.Tensor((B, H // groups, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
    ) -> None:
        with T.Kernel(B * H * query_tiles, threads=2, is_npu=True) as cid:
            first = cid % query_tiles * block_M
            head = cid // query_tiles % H
            batch = cid // query_tiles // H
            q = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((block_N, D), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            partial = T.alloc_fragment((block_M, D), accum)
            s = T.alloc_shared((block_M, block_N), accum)
            p = T.alloc_shared((block_M, block_N), dtype)
            weights = T.alloc_shared((block_M, block_N), dtype)
            part = T.alloc_shared((block_M, D), accum)
            o = T.alloc_shared((block_M, D), accum)
            out = T.alloc_shared((block_M, D), dtype)
            peak = T.alloc_shared((block_M,), accum)
            shrink = T.alloc_shared((block_M,), accum)
            total = T.alloc_shared((block_M,), accum)
            row_sum = T.alloc_shared((block_M,), accum)

            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[batch, head, first : first + block_M, :], q)
            steps = T.ceildiv(first + block_M, block_N) if causal else S // block_N
            for n in T.Pipelined(steps, num_stages=2):
                T.copy(K[batch, head // groups, n * block_N : (n + 1) * block_N, :], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.if_then_else(
                            first + i >= n * block_N + j, s[i, j] * scale, -1e30
                        )
                else:
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = s[i, j] * scale
                T.copy(peak, shrink)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(block_M):
                    peak[i] = T.max(peak[i], shrink[i])
                    shrink[i] = T.exp(shrink[i] - peak[i])
                for i, j in T.Parallel(block_M, block_N):
                    s[i, j] = T.exp(s[i, j] - peak[i])
                T.copy(s, p)
                T.copy(p, weights)
                T.reduce_sum(s, row_sum, dim=-1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                T.copy(V[batch, head // groups, n * block_N : (n + 1) * block_N, :], v)
                T.gemm_v0(weights, v, partial, init=True)
                for i, j in T.Parallel(block_M, D):
                    o[i, j] = o[i, j] * shrink[i]
                T.copy(partial, part)
                T.tile.add(o, o, part)
            for i, j in T.Parallel(block_M, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, out)
            T.copy(out, Output[batch, head, first : first + block_M, :])

    return attention


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, groups: int, causal: bool
) -> torch.Tensor:
    k, v = (x.float().repeat_interleave(groups, 1) for x in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q.float(), k, v, is_causal=causal)


def main() -> None:
    torch.manual_seed(0)
    for B, H, S, D, groups, causal in (
        (1, 4, 512, 128, 1, False),
        (2, 2, 256, 64, 1, True),
        (1, 4, 256, 64, 2, False),
    ):
        q = torch.randn(B, H, S, D).half()
        k, v = (torch.randn(B, H // groups, S, D).half() for _ in range(2))
        what = ("causal " if causal else "") + (f"{groups} queries a key, " if groups > 1 else "")
        run_and_report(
            f"flash attention, {what}{B}x{H}x{S}x{D} float16",
            lambda B=B, H=H, S=S, D=D, groups=groups, causal=causal: flash_attention(
                B, H, S, D, 64, 128 if D == 128 else 64, groups, causal
            ),
            [q, k, v],
            reference(q, k, v, groups, causal),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
