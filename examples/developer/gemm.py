"""C = A @ B in developer style: no memory, core, flag or barrier is named.

The shared tiles are operands of a product, so they lie in l1; the fragment takes its result, so it
lies in l0c. `tile-ascend opt gemm.py:gemm ... -p infer_memory --explain` says so. A grid larger
than the chip is dealt out to its cores: the first loads of a tile go on under the one before. What
runs at a time lies on a diagonal of C, so that few cores wait for the same panel from HBM.
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
def gemm(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, dtype: str = "float16",
    accum: str = "float32", num_stages: int = 2,
) -> T.PrimFunc:  # fmt: skip
    m_tiles, n_tiles = T.cdiv(M, block_M), T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(m_tiles * n_tiles, threads=2, is_npu=True) as cid:
            row = cid % m_tiles * block_M
            column = (cid // m_tiles + cid % m_tiles) % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), accum)
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=num_stages):
                T.copy(A[row, k * block_K], a)
                T.copy(B[k * block_K, column], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[row, column])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(1024, 512).half(), torch.randn(512, 1024).half()
    run_and_report(
        "gemm 1024x1024x512 float16",
        lambda: gemm(1024, 1024, 512, 128, 256, 64),
        [a, b],
        a.float() @ b.float(),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
