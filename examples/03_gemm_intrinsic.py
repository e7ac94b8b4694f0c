"""The high-performance matrix product: every stage overlaps the next by hand-set flags.

A fixed number of cube cores walks over the tiles of C (persistent loop, swizzled so that neighbours
share rows of A and columns of B in the cache). Two slots in l1 let the next loads run under the
products of this one; two slots in l0a and l0b do the same for the loads from l1.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1])
def gemm_intrinsic(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, tile_K: int, cores: int,
    dtype: str = "float16", accum_dtype: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    m_tiles, n_tiles = T.cdiv(M, block_M), T.cdiv(N, block_N)
    tiles = m_tiles * n_tiles
    k_steps = T.cdiv(K, block_K)
    slots = 2

    @T.macro
    def load_block(
        A: T.Tensor, B: T.Tensor, a_l1: T.Tensor, b_l1: T.Tensor, bx: int, by: int, k: int,
        slot: int,
    ) -> None:  # fmt: skip
        T.wait_flag("mte1", "mte2", slot)
        T.copy(A[bx * block_M, k * block_K], a_l1[slot, :, :])
        T.copy(B[k * block_K, by * block_N], b_l1[slot, :, :])
        T.set_flag("mte2", "mte1", slot)

    @T.macro
    def multiply_tile(
        a_l1: T.Tensor, b_l1: T.Tensor, a_l0: T.Tensor, b_l0: T.Tensor, c_l0: T.Tensor, slot: int,
        part: int, init: int,
    ) -> None:  # fmt: skip
        side = part % slots
        T.wait_flag("m", "mte1", side)
        T.copy(a_l1[slot, :, part * tile_K : (part + 1) * tile_K], a_l0[side, :, :])
        T.copy(b_l1[slot, part * tile_K : (part + 1) * tile_K, :], b_l0[side, :, :])
        T.set_flag("mte1", "m", side)
        T.wait_flag("mte1", "m", side)
        T.mma(a_l0[side, :, :], b_l0[side, :, :], c_l0, init=init)
        T.set_flag("m", "mte1", side)

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, _):
            a_l1 = T.alloc_L1((slots, block_M, block_K), dtype)
            b_l1 = T.alloc_L1((slots, block_K, block_N), dtype)
            a_l0 = T.alloc_L0A((slots, block_M, tile_K), dtype)
            b_l0 = T.alloc_L0B((slots, tile_K, block_N), dtype)
            c_l0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for s in T.serial(slots):  # every slot starts free
                    T.set_flag("mte1", "mte2", s)
                    T.set_flag("m", "mte1", s)
                T.set_flag("fix", "m", 0)

                for wave in T.serial(T.ceildiv(tiles, cores)):
                    index = wave * cores + cid
                    if index < tiles:
                        tile = T.use_swizzle(
                            index, M, N, K, block_M, block_N, off=3, in_loop=True
                        )  # fmt: skip
                        bx = tile // n_tiles
                        by = tile % n_tiles
                        T.wait_flag("fix", "m", 0)  # the accumulator has been written out
                        for k in T.serial(k_steps):
                            slot = k % slots
                            load_block(A, B, a_l1, b_l1, bx, by, k, slot)
                            T.wait_flag("mte2", "mte1", slot)
                            for part in T.serial(block_K // tile_K):
                                first = T.And(k == 0, part == 0)
                                multiply_tile(a_l1, b_l1, a_l0, b_l0, c_l0, slot, part, first)
                            T.set_flag("mte1", "mte2", slot)
                        T.set_flag("m", "fix", 0)
                        T.wait_flag("m", "fix", 0)
                        T.copy(c_l0, C[bx * block_M, by * block_N])
                        T.set_flag("fix", "m", 0)

                T.wait_flag("fix", "m", 0)
                for s in T.serial(slots):  # take back what is still set
                    T.wait_flag("mte1", "mte2", s)
                    T.wait_flag("m", "mte1", s)

    return gemm_kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, K, cores in ((1024, 1024, 1024, 24), (1024, 2048, 512, 20)):
        a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
        run_and_report(
            f"gemm intrinsic {M}x{N}x{K} float16 on {cores} cores",
            lambda M=M, N=N, K=K, cores=cores: gemm_intrinsic(M, N, K, 128, 256, 256, 64, cores),
            [a, b],
            a.float() @ b.float(),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
