"""C = A @ B for any M, N and K, by single instructions and without a flag.

The loops and slots are those of 03_gemm_intrinsic.py; automatic synchronisation puts the flags that
stand there by hand. Tiles that hang over the edges are cut: l1 is padded with zeros, and the last
step along K multiplies only the parts that hold anything. Two accumulators let the next tile start
while this one is written out.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def gemm_ragged(
    M: int, N: int, K: int, block_M: int, block_N: int, block_K: int, tile_K: int, cores: int,
    dtype: str = "float16", accum_dtype: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    n_tiles = T.cdiv(N, block_N)
    tiles = T.cdiv(M, block_M) * n_tiles
    slots = 2

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
            c_l0 = T.alloc_L0C((slots, block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for i in T.serial(T.ceildiv(tiles - cid, cores)):
                    tile = cid + i * cores
                    bx = tile // n_tiles
                    by = tile % n_tiles
                    for k in T.serial(T.cdiv(K, block_K)):
                        slot = k % slots
                        T.copy(A[bx * block_M, k * block_K], a_l1[slot, :, :])
                        T.copy(B[k * block_K, by * block_N], b_l1[slot, :, :])
                        depth = T.min(K - k * block_K, block_K)
                        for part in T.serial(T.ceildiv(depth, tile_K)):
                            side = part % slots
                            this = part * tile_K
                            T.copy(a_l1[slot, :, this : this + tile_K], a_l0[side, :, :])
                            T.copy(b_l1[slot, this : this + tile_K, :], b_l0[side, :, :])
                            T.mma(
                                a_l0[side, :, :],
                                b_l0[side, :, :],
                                c_l0[i % slots, :, :],
                                init=T.And(k == 0, part == 0),
                            )
                    T.copy(c_l0[i % slots, :, :], C[bx * block_M, by * block_N])

    return gemm_kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, K, cores in ((1000, 1000, 1000, 24), (517, 389, 611, 5), (77, 1023, 1, 3)):
        a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
        run_and_report(
            f"gemm ragged {M}x{N}x{K} float16 on {cores} cores",
            lambda M=M, N=N, K=K, cores=cores: gemm_ragged(M, N, K, 128, 128, 256, 64, cores),
            [a, b],
            a.float() @ b.float(),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
