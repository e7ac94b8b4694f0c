"""Causal linear attention as it is written for a GPU: a state goes from chunk to chunk.

A block does a head: the products of a chunk with itself and with the state of all before it.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def linear_attention(batch, heads, length, dim, chunk=64, dtype="float16"):
    shape = [batch, heads, length, dim]

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),  # noqa: E741
    ):
        with T.Kernel(heads, batch, threads=128) as (by, bz):
            q = T.alloc_shared((chunk, dim), dtype)
            k = T.alloc_shared((chunk, dim), dtype)
            v = T.alloc_shared((chunk, dim), dtype)
            before = T.alloc_shared((dim, dim), dtype)
            weights = T.alloc_shared((chunk, chunk), dtype)
            scores = T.alloc_fragment((chunk, chunk), "float32")
            state = T.alloc_fragment((dim, dim), "float32")
            out = T.alloc_fragment((chunk, dim), "float32")
            T.clear(state)
            for n in T.Pipelined(T.ceildiv(length, chunk), num_stages=2):
                T.copy(Q[bz, by, n * chunk : (n + 1) * chunk, :], q)
                T.copy(K[bz, by, n * chunk : (n + 1) * chunk, :], k)
                T.copy(V[bz, by, n * chunk : (n + 1) * chunk, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.copy(state, before)
                T.gemm(weights, v, out, clear_accum=True)
                T.gemm(q, before, out)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(out, O[bz, by, n * chunk : (n + 1) * chunk, :])

    return kernel


def main():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 256, 64, device="cuda").half() / 8 for _ in range(3))
    scores = (q.float() @ k.float().transpose(-1, -2)).tril()
    run_and_report(
        "linear attention 1x2x256x64 float16",
        lambda: linear_attention(1, 2, 256, 64),
        [q, k, v],
        scores @ v.float(),
        tolerance=4e-3,
    )


if __name__ == "__main__":
    main()
