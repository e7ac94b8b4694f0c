"""A product with weights of int8 as it is written for a GPU: a scale for each column.

Weights become float16 on their way to the product; scales are applied to its sums.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def dequantised_matmul(M, N, K, block_M=128, block_N=128, block_K=64, dtype="float16"):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        W: T.Tensor((N, K), "int8"),
        scales: T.Tensor((N,), "float32"),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            packed = T.alloc_shared((block_N, block_K), "int8")
            weights = T.alloc_shared((block_N, block_K), dtype)
            scale = T.alloc_shared((block_N,), "float32")
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.copy(scales[bx * block_N], scale)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(W[bx * block_N, k * block_K], packed)
                for i, j in T.Parallel(block_N, block_K):
                    weights[i, j] = T.cast(packed[i, j], dtype)
                T.gemm(a, weights, c, transpose_B=True)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] *= scale[j]
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


def main():
    torch.manual_seed(0)
    a = torch.randn(256, 256, device="cuda").half()
    w = torch.randint(-127, 128, (384, 256), device="cuda", dtype=torch.int8)
    scales = torch.rand(384, device="cuda") / 127
    run_and_report(
        "dequantised matmul 256x384x256 int8",
        lambda: dequantised_matmul(256, 384, 256),
        [a, w, scales],
        a.float() @ w.float().T * scales,
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
