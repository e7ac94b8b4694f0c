"""relu(A @ B) as it is written for a GPU: a grid of tiles of 128 x 128, 32 of k at a time.

`tile-ascend opt matmul_relu.py:matmul_relu ... -p retile_blocks --explain` says what becomes of the
tiles on this chip.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def matmul_relu(M, N, K, block_M=128, block_N=128, block_K=32, dtype="float16"):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


def main():
    torch.manual_seed(0)
    a = torch.randn(512, 256, device="cuda").half()
    b = torch.randn(256, 768, device="cuda").half()
    run_and_report(
        "matmul, relu 512x768x256 float16",
        lambda: matmul_relu(512, 768, 256),
        [a, b],
        torch.relu(a.float() @ b.float()),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
