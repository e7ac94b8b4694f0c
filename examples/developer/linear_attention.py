"""Causal linear attention in developer style, a chunk of positions at a time.

What came before a chunk is one matrix, the sum of outer products of keys and values, which stays
in the accumulator of the cube core from chunk to chunk; inside the chunk the scores are masked.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[3], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def linear_attention(
    B: int, H: int, S: int, D: int, chunk: int, dtype: str = "float16", accum: str = "float32"
) -> T.PrimFunc:
    assert S % chunk == 0, "chunks cover the sequence"

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H, S, D), dtype),
        V: T.Tensor((B, H, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
    ) -> None:
        with T.Kernel(B * H, threads=2, is_npu=True) as cid:
            batch, head = cid // H, cid % H
            q = T.alloc_shared((chunk, D), dtype)
            k = T.alloc_shared((chunk, D), dtype)
            v = T.alloc_shared((chunk, D), dtype)
            scores = T.alloc_fragment((chunk, chunk), accum)
            state = T.alloc_fragment((D, D), accum)
            result = T.alloc_fragment((chunk, D), accum)
            s = T.alloc_shared((chunk, chunk), accum)
            p = T.alloc_shared((chunk, chunk), dtype)
            weights = T.alloc_shared((chunk, chunk), dtype)
            before = T.alloc_shared((D, D), dtype)

            for n in T.Pipelined(S // chunk, num_stages=2):
                T.copy(Q[batch, head, n * chunk : (n + 1) * chunk, :], q)
                T.copy(K[batch, head, n * chunk : (n + 1) * chunk, :], k)
                T.copy(V[batch, head, n * chunk : (n + 1) * chunk, :], v)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                for i, j in T.Parallel(chunk, chunk):
                    s[i, j] = T.if_then_else(i >= j, s[i, j], 0.0)
                T.copy(s, p)
                T.copy(p, weights)
                T.gemm_v0(weights, v, result, init=True)
                if n > 0:
                    T.gemm_v0(q, before, result)
                T.copy(result, Output[batch, head, n * chunk : (n + 1) * chunk, :])
                T.gemm_v0(k, v, state, transpose_A=True, init=(n == 0))
                T.copy(state, before)

    return attention


def main() -> None:
    torch.manual_seed(0)
    for B, H, S, D, chunk in ((2, 12, 512, 128, 64), (1, 3, 192, 64, 32)):
        q, k, v = (torch.randn(B, H, S, D).half() for _ in range(3))
        scores = (q.float() @ k.float().mT).tril()
        run_and_report(
            f"linear attention {B}x{H}x{S}x{D} float16",
            lambda B=B, H=H, S=S, D=D, chunk=chunk: linear_attention(B, H, S, D, chunk),
            [q, k, v],
            scores @ v.float(),
            tolerance=2e-3,
        )


if __name__ == "__main__":
    main()
