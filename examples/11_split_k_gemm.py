"""C += A @ B^T with few tiles and a long K: cores share a tile and add their parts atomically.

Every core multiplies its share of the steps along K; shares need not be alike, and the last may be
empty. Sums of other cores need no order, and inside a core automatic synchronisation makes it.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def split_k_gemm(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, splits: int,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    n_tiles = T.cdiv(N, block_N)
    tiles = T.cdiv(M, block_M) * n_tiles
    steps = T.cdiv(K, block_K)
    share = T.cdiv(steps, splits)
    slots = 2

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K), dtype),
        C: T.Tensor((M, N), accum),
    ) -> None:
        with T.Kernel(tiles * splits, is_npu=True) as (cid, _):
            a_l1 = T.alloc_L1((slots, block_M, block_K), dtype)
            b_l1 = T.alloc_L1((slots, block_N, block_K), dtype)
            c_l0 = T.alloc_L0C((block_M, block_N), accum)
            with T.Scope("C"):
                tile = cid // splits
                bx = tile // n_tiles
                by = tile % n_tiles
                first = cid % splits * share
                mine = T.min(steps - first, share)
                if mine > 0:
                    for k in T.serial(mine):
                        slot = k % slots
                        T.copy(A[bx * block_M, (first + k) * block_K], a_l1[slot, :, :])
                        T.copy(B[by * block_N, (first + k) * block_K], b_l1[slot, :, :])
                        T.gemm_v0(
                            a_l1[slot, :, :],
                            b_l1[slot, :, :],
                            c_l0,
                            transpose_B=True,
                            init=(k == 0),
                        )
                    T.tile.atomic_add(C[bx * block_M, by * block_N], c_l0)

    return gemm_kernel


def product(kernel: T.JITKernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The kernel adds to its last argument."""
    c = torch.zeros(a.shape[0], b.shape[0])
    kernel(a, b, c)
    return c


def main() -> None:
    torch.manual_seed(0)
    for M, N, K, splits in ((256, 256, 8192, 6), (100, 200, 5000, 7)):
        a, b = torch.randn(M, K).half(), torch.randn(N, K).half()
        run_and_report(
            f"split-k gemm {M}x{N}x{K} float16 in {splits} parts",
            lambda M=M, N=N, K=K, splits=splits: split_k_gemm(M, N, K, 128, 128, 256, splits),
            [a, b],
            a.float() @ b.float().T,
            tolerance=1e-5,
            call=product,
        )


if __name__ == "__main__":
    main()
