"""A product of few tiles as it is written for a GPU: blocks share the sum over k.

Each adds its part to the result with atomic adds, so that all cores have work.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit
def split_k_matmul(M, N, K, splits=8, block_M=128, block_N=128, block_K=32, dtype="float16"):
    part = K // splits

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), splits, threads=128) as (
            bx,
            by,
            bz,
        ):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(part // block_K, num_stages=2):
                T.copy(A[by * block_M, bz * part + k * block_K], a)
                T.copy(B[bz * part + k * block_K, bx * block_N], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(block_M, block_N):
                T.atomic_add(C[by * block_M + i, bx * block_N + j], c[i, j])

    return kernel


def _added(kernel, a, b):
    c = torch.zeros(a.shape[0], b.shape[1], device="cuda")
    kernel(a, b, c)
    return c


def main():
    torch.manual_seed(0)
    a = torch.randn(128, 2048, device="cuda").half()
    b = torch.randn(2048, 256, device="cuda").half()
    run_and_report(
        "split-k matmul 128x256x2048 float16",
        lambda: split_k_matmul(128, 256, 2048),
        [a, b],
        a.float() @ b.float(),
        tolerance=1e-5,
        call=_added,
    )


if __name__ == "__main__":
    main()
