"""int8 product with one scale a column, float16 out."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"M": 70, "N": 90, "K": 100}, {"M": 128, "N": 64, "K": 64})
LARGE = {"M": 12288, "N": 8192, "K": 1024}
TOLERANCE = 2e-2


@T.jit(out_idx=[-1])
def kernel(M, N, K, block_M=128, block_N=128, block_K=64):
    across = T.cdiv(N, block_N)

    @T.prim_func
    def int8_gemm(
        A: T.Tensor((M, K), "int8"),
        B: T.Tensor((K, N), "int8"),
        scale: T.Tensor((N,), "float32"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.cdiv(M, block_M) * across, threads=2, is_npu=True) as cid:
            row, column = cid // across * block_M, cid % across * block_N
            a = T.alloc_shared((block_M, block_K), "int8")
            b = T.alloc_shared((block_K, block_N), "int8")
            total = T.alloc_fragment((block_M, block_N), "int32")
            c = T.alloc_shared((block_M, block_N), "int32")
            s = T.alloc_shared((block_N,), "float32")
            out = T.alloc_shared((block_M, block_N), "float16")
            T.copy(scale[column], s)
            for k in T.serial(T.cdiv(K, block_K)):
                T.copy(A[row, k * block_K], a)
                T.copy(B[k * block_K, column], b)
                T.gemm_v0(a, b, total, init=(k == 0))
            T.copy(total, c)
            for i, j in T.Parallel(block_M, block_N):
                out[i, j] = T.cast(T.cast(c[i, j], "float32") * s[j], "float16")
            T.copy(out, C[row, column])

    return int8_gemm


def inputs(M, N, K):
    draw = [torch.randint(-128, 128, size, dtype=torch.int8) for size in ((M, K), (K, N))]
    return [*draw, torch.rand(N) / 1e4]


def expected(a, b, scale):
    return [((a.float() @ b.float()) * scale).half()]
