"""C = A @ B with `T.gemm_v0`: one 128x256 tile of C per cube core, k in steps of 64.

Two slots in l1: the next tiles of A and B are loaded under the product of these. A slot has a flag
each way, "loaded" and "free again"; the free ones are set before the loop and taken back after it.
`T.gemm_v0` loads l0a and l0b itself, which one product has at a time; 03_gemm_intrinsic.py divides
these too.
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
    slots = 2

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(m_tiles * n_tiles, is_npu=True) as (cid, _):
            bx = cid // n_tiles
            by = cid % n_tiles
            a_l1 = T.alloc_L1((slots, block_M, block_K), dtype)
            b_l1 = T.alloc_L1((slots, block_K, block_N), dtype)
            c_l0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for s in T.serial(slots):  # every slot starts free
                    T.set_flag("mte1", "mte2", s)
                T.set_flag("m", "mte1", 0)

                for k in T.serial(T.ceildiv(K, block_K)):
                    slot = k % slots
                    T.wait_flag("mte1", "mte2", slot)
                    T.copy(A[bx * block_M, k * block_K], a_l1[slot, :, :])
                    T.copy(B[k * block_K, by * block_N], b_l1[slot, :, :])
                    T.set_flag("mte2", "mte1", slot)

                    T.wait_flag("mte2", "mte1", slot)
                    T.wait_flag("m", "mte1", 0)  # the last product has read l0a and l0b
                    T.gemm_v0(a_l1[slot, :, :], b_l1[slot, :, :], c_l0, init=(k == 0))
                    T.set_flag("mte1", "mte2", slot)
                    T.set_flag("m", "mte1", 0)

                T.set_flag("m", "fix", 0)
                T.wait_flag("m", "fix", 0)
                T.copy(c_l0, C[bx * block_M, by * block_N])

                T.wait_flag("m", "mte1", 0)
                for s in T.serial(slots):  # take back what is still set
                    T.wait_flag("mte1", "mte2", s)

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
