"""C = A @ B * row scale * column scale with int8 activations and int4 weights, in developer style.

Two weights lie in a byte. The vector cores widen a tile of them to int8, the
cube core multiplies exactly into int32, and the vector cores scale the result.
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
def w4a8_gemm(M: int, N: int, K: int, block_M: int, block_N: int, block_K: int) -> T.PrimFunc:
    n_tiles = T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "int8"),
        B: T.Tensor((K, N // 2), "int8"),
        row_scale: T.Tensor((M,), "float32"),
        column_scale: T.Tensor((1, N), "float32"),
        C: T.Tensor((M, N), "float16"),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            weights = T.view(B, (K, N), "int4")
            row = cid // n_tiles * block_M
            column = cid % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), "int8")
            packed = T.alloc_shared((block_K, block_N), "int4")
            half = T.alloc_shared((block_K, block_N), "float16")
            wide = T.alloc_shared((block_K, block_N), "int8")
            b = T.alloc_shared((block_K, block_N), "int8")
            product = T.alloc_fragment((block_M, block_N), "int32")
            whole = T.alloc_shared((block_M, block_N), "int32")
            c = T.alloc_shared((block_M, block_N), "float32")
            out = T.alloc_shared((block_M, block_N), "float16")
            rows = T.alloc_shared((block_M,), "float32")
            columns = T.alloc_shared((1, block_N), "float32")
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=2):
                T.copy(A[row, k * block_K], a)
                T.copy(weights[k * block_K, column], packed)
                T.copy(packed, half)
                T.copy(half, wide)
                T.copy(wide, b)
                T.gemm_v0(a, b, product, init=(k == 0))
            T.copy(row_scale[row : row + block_M], rows)
            T.copy(column_scale[0, column], columns)
            T.copy(product, whole)
            T.copy(whole, c)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = c[i, j] * columns[0, j] * rows[i]
            T.copy(c, out)
            T.copy(out, C[row, column])

    return kernel


def packed(numbers: torch.Tensor) -> torch.Tensor:
    """Two numbers of a row in a byte, the even one in the low half."""
    return (numbers[:, 0::2] & 15) | (numbers[:, 1::2] << 4)


def main() -> None:
    torch.manual_seed(0)
    for M, N, K, block in ((128, 512, 1024, 128), (320, 384, 192, 64)):
        a = torch.randint(-128, 128, (M, K), dtype=torch.int8)
        b = torch.randint(-8, 8, (K, N), dtype=torch.int8)
        rows, columns = torch.rand(M) / 1000, torch.rand(1, N) / 100
        run_and_report(
            f"w4a8 gemm {M}x{N}x{K}",
            lambda M=M, N=N, K=K, block=block: w4a8_gemm(M, N, K, block, block, block),
            [a, packed(b), rows, columns],
            (a.double() @ b.double()) * rows[:, None].double() * columns.double(),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
