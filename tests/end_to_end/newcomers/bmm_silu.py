"""silu(A @ B) of every batch in bfloat16."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"batch": 3, "M": 70, "N": 90, "K": 100}, {"batch": 1, "M": 128, "N": 64, "K": 64})
LARGE = {"batch": 36, "M": 1024, "N": 1024, "K": 1024}
TOLERANCE = 2e-2


@T.jit(out_idx=[-1])
def kernel(batch, M, N, K, block_M=128, block_N=128, block_K=64):
    down, across = T.cdiv(M, block_M), T.cdiv(N, block_N)

    @T.prim_func
    def bmm_silu(
        A: T.Tensor((batch, M, K), "bfloat16"),
        B: T.Tensor((batch, K, N), "bfloat16"),
        C: T.Tensor((batch, M, N), "bfloat16"),
    ):
        with T.Kernel(batch * down * across, threads=2, is_npu=True) as cid:
            n = cid // (down * across)
            row = cid // across % down * block_M
            column = cid % across * block_N
            a = T.alloc_shared((block_M, block_K), "bfloat16")
            b = T.alloc_shared((block_K, block_N), "bfloat16")
            total = T.alloc_fragment((block_M, block_N), "float32")
            c = T.alloc_shared((block_M, block_N), "float32")
            out = T.alloc_shared((block_M, block_N), "bfloat16")
            for k in T.serial(T.cdiv(K, block_K)):
                T.copy(A[n, row, k * block_K], a)
                T.copy(B[n, k * block_K, column], b)
                T.gemm_v0(a, b, total, init=(k == 0))
            T.copy(total, c)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = c[i, j] * T.sigmoid(c[i, j])
            T.copy(c, out)
            T.copy(out, C[n, row, column])

    return bmm_silu


def inputs(batch, M, N, K):
    return [torch.randn(batch, M, K).bfloat16(), (torch.randn(batch, K, N) / K**0.5).bfloat16()]


def expected(a, b):
    return [torch.nn.functional.silu(a.float() @ b.float()).bfloat16()]
