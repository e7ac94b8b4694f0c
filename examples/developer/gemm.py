"""C = A @ B in developer style: no memory, core, flag or barrier is named.

The shared tiles are operands of a product, so they lie in l1; the fragment takes its result, so it
lies in l0c. `tile-ascend opt gemm.py:gemm ... -p infer_memory --explain` says so. A grid larger
than the chip is dealt out to its cores: the first loads of a tile go on under the one before.

Tiles are taken in panels of columns, so that what runs at a time shares rows of A and columns of B.
Each tile begins elsewhere along k and goes once around: of the cores that share a panel one brings
it from HBM and the others find it in L2, where all would wait if they asked for it at once.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Columns of tiles in a panel, and places along k where tiles begin.
PANEL = 8
# What a tile begins with is at least so much of k, that long rows are loaded from there on.
STRETCH = 512

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gemm(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, dtype: str = "float16",
    accum: str = "float32", num_stages: int = 2,
) -> T.PrimFunc:  # fmt: skip
    m_tiles, n_tiles, k_tiles = T.cdiv(M, block_M), T.cdiv(N, block_N), T.cdiv(K, block_K)
    stretch = max(STRETCH // block_K, 1)  # in tiles
    stretches = k_tiles // stretch if k_tiles % stretch == 0 else 0

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(m_tiles * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles, tile % n_tiles
            begin = (row + column) % PANEL * stretches // PANEL * stretch
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), accum)
            for k in T.Pipelined(k_tiles, num_stages=num_stages):
                step = (k + begin) % k_tiles
                T.copy(A[row * block_M, step * block_K], a)
                T.copy(B[step * block_K, column * block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[row * block_M, column * block_N])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(1024, 512).half(), torch.randn(512, 1024).half()
    sizes = (1024, 1024, 512)
    run_and_report(
        "gemm 1024x1024x512 float16",
        lambda: gemm(*sizes, *T.recommend_tiles(*sizes)),
        [a, b],
        a.float() @ b.float(),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
