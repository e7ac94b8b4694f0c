"""Attention as it is written for a GPU: a block for 128 queries of a head, 128 keys a round.

The sum of the values is scaled in each round, so it lies in ub here and each product is added to
it: `tile-ascend opt attention.py:attention ... -p place_buffers --explain`.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

LOG2_E = 1.44269504


@tilelang.jit(out_idx=[-1])
def attention(batch, heads, length, dim, causal=False, block_M=128, block_N=128, dtype="float16"):
    shape = [batch, heads, length, dim]
    scale = dim**-0.5 * LOG2_E

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=256) as (bx, by, bz):
            q = T.alloc_shared((block_M, dim), dtype)
            k = T.alloc_shared((block_N, dim), dtype)
            v = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            most = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(Q[bz, by, bx * block_M : (bx + 1) * block_M, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            last = (bx + 1) * block_M if causal else length
            for n in T.Pipelined(T.ceildiv(last, block_N), num_stages=2):
                T.copy(K[bz, by, n * block_N : (n + 1) * block_N, :], k)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(
                            bx * block_M + i >= n * block_N + j, 0, -T.infinity("float32")
                        )
                else:
                    T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(V[bz, by, n * block_N : (n + 1) * block_N, :], v)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - most[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_M):
                    before[i] = T.exp2(before[i] * scale - most[i] * scale)
                    total[i] = total[i] * before[i] + part[i]
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= before[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, O[bz, by, bx * block_M : (bx + 1) * block_M, :])

    return kernel


def main():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 256, 64, device="cuda").half() for _ in range(3))
    for causal in (False, True):
        expected = torch.nn.functional.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), is_causal=causal
        )
        run_and_report(
            f"{'causal ' if causal else ''}attention 1x2x256x64 float16",
            lambda causal=causal: attention(1, 2, 256, 64, causal),
            [q, k, v],
            expected,
            tolerance=2e-3,
        )


if __name__ == "__main__":
    main()
