"""C = (A @ B) * row scale * column scale with int8 operands and float16 results.

The cube core multiplies int8 exactly into int32; the vector cores turn the tile into float and
scale it, a value per row and a value per column. Tiles are taken in panels and begin at different
places along k, as in gemm.py: sums of int32 do not depend on it.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Columns of tiles in a panel, and places along k where tiles begin, at least so much of k apart.
PANEL = 8
STRETCH = 1024

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def int8_gemm(M: int, N: int, K: int, block_M: int, block_N: int, block_K: int) -> T.PrimFunc:
    n_tiles, k_tiles = T.cdiv(N, block_N), T.cdiv(K, block_K)
    stretch = max(STRETCH // block_K, 1)  # in tiles
    stretches = k_tiles // stretch if k_tiles % stretch == 0 else 0

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "int8"),
        B: T.Tensor((K, N), "int8"),
        row_scale: T.Tensor((M,), "float32"),
        column_scale: T.Tensor((1, N), "float32"),
        C: T.Tensor((M, N), "float16"),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            begin = (tile // n_tiles + tile % n_tiles) % PANEL * stretches // PANEL * stretch
            a = T.alloc_shared((block_M, block_K), "int8")
            b = T.alloc_shared((block_K, block_N), "int8")
            product = T.alloc_fragment((block_M, block_N), "int32")
            whole = T.alloc_shared((block_M, block_N), "int32")
            c = T.alloc_shared((block_M, block_N), "float32")
            out = T.alloc_shared((block_M, block_N), "float16")
            rows = T.alloc_shared((block_M,), "float32")
            columns = T.alloc_shared((1, block_N), "float32")
            for k in T.Pipelined(k_tiles, num_stages=2):
                step = (k + begin) % k_tiles
                T.copy(A[row, step * block_K], a)
                T.copy(B[step * block_K, column], b)
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


def main() -> None:
    torch.manual_seed(0)
    M, N, K = 256, 512, 1024
    a = torch.randint(-128, 128, (M, K), dtype=torch.int8)
    b = torch.randint(-128, 128, (K, N), dtype=torch.int8)
    rows, columns = torch.rand(M) / 1000, torch.rand(1, N) / 1000
    run_and_report(
        f"dequantised gemm {M}x{N}x{K} int8",
        lambda: int8_gemm(M, N, K, 128, 128, 128),
        [a, b, rows, columns],
        (a.double() @ b.double()) * rows[:, None].double() * columns.double(),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
