"""C = A @ B with `T.gemm_v0`: one 128x256 tile of C per cube core, k in steps of 64.

Barriers after every stage keep the kernel simple; 03_gemm_intrinsic.py overlaps the stages.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1])
def gemm(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, dtype: str = "float16",
    accum_dtype: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    m_tiles, n_tiles = T.cdiv(M, block_M), T.cdiv(N, block_N)

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(m_tiles * n_tiles, is_npu=True) as (cid, _):
            bx = cid // n_tiles
            by = cid % n_tiles
            a_l1 = T.alloc_L1((block_M, block_K), dtype)
            b_l1 = T.alloc_L1((block_K, block_N), dtype)
            c_l0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for k in T.serial(T.ceildiv(K, block_K)):
                    T.copy(A[bx * block_M, k * block_K], a_l1)
                    T.copy(B[k * block_K, by * block_N], b_l1)
                    T.barrier_all()
                    T.gemm_v0(a_l1, b_l1, c_l0, init=(k == 0))
                    T.barrier_all()
                T.copy(c_l0, C[bx * block_M, by * block_N])

    return gemm_kernel


def main() -> None:
    torch.manual_seed(0)
    M = N = K = 1024
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    run_and_report(
        f"gemm {M}x{N}x{K} float16",
        lambda: gemm(M, N, K, 128, 256, 64),
        [a, b],
        a.float() @ b.float(),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
