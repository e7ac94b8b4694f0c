"""C = relu(A @ B + bias) for any M, N and K: the product on the cube core, the rest on the vector
cores.

The copy from the fragment to `c` hands the tile over; how it travels, and which half of its rows
each vector core takes, is the compiler's business. Tiles that hang over the edges are cut.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gemm_bias_relu(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, dtype: str = "float16",
    accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    n_tiles = T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        bias: T.Tensor((1, N), accum),
        C: T.Tensor((M, N), accum),
    ) -> None:
        with T.Kernel(T.cdiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            row = cid // n_tiles * block_M
            column = cid % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            product = T.alloc_fragment((block_M, block_N), accum)
            c = T.alloc_shared((block_M, block_N), accum)
            w = T.alloc_shared((1, block_N), accum)
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=2):
                T.copy(A[row, k * block_K], a)
                T.copy(B[k * block_K, column], b)
                T.gemm_v0(a, b, product, init=(k == 0))
            T.copy(bias[0, column], w)
            T.copy(product, c)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = T.max(c[i, j] + w[0, j], 0)
            T.copy(c, C[row, column])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, K in ((512, 512, 256), (517, 389, 611), (77, 1023, 1)):
        a, b, bias = torch.randn(M, K).half(), torch.randn(K, N).half(), torch.randn(1, N)
        run_and_report(
            f"gemm with bias and relu {M}x{N}x{K} float16",
            lambda M=M, N=N, K=K: gemm_bias_relu(M, N, K, 128, 128, 64),
            [a, b, bias],
            torch.relu(a.float() @ b.float() + bias),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
