"""Product and all-reduce in one kernel: every rank gets the sum of A_r @ B_r over r.

Each rank has some of the columns of A and the same rows of B. Tiles belong to ranks in turn: a tile
is put to its owner when it is made, while the cube core makes the next one. The owner adds the
parts of all ranks in the order of their numbers, and puts the sum to all.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


@T.jit(pass_configs=CONFIGS)
def gemm_ar(
    ranks: int, M: int, N: int, K: int, rows: int = 128, columns: int = 128, depth: int = 64,
    blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    across = T.ceildiv(N, columns)
    tiles = T.ceildiv(M, rows) * across

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        parts: T.SymmTensor((ranks, M, N), "float32"),
        made: T.Signals(ranks * tiles),
        C: T.SymmTensor((M, N), dtype),
        summed: T.Signals(tiles),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            a = T.alloc_L1((rows, depth), dtype)
            b = T.alloc_L1((depth, columns), dtype)
            c = T.alloc_L0C((rows, columns), "float32")
            total = T.alloc_ub((rows, columns), "float32")
            term = T.alloc_ub((rows, columns), "float32")
            rounded = T.alloc_ub((rows, columns), dtype)
            with T.Scale("device") as (r, num):
                for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                    tile = cid + t * blocks
                    row = tile // across * rows
                    column = tile % across * columns
                    for k in T.serial(T.ceildiv(K, depth)):
                        T.copy(A[row, k * depth], a)
                        T.copy(B[k * depth, column], b)
                        T.gemm_v0(a, b, c, init=(k == 0))
                    T.copy(c, parts[r, row, column], dst_pe=tile % num)
                    T.quiet()
                    T.signal(made[r * tiles + tile], step, tile % num)
                for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                    tile = cid + t * blocks
                    row = tile // across * rows
                    column = tile % across * columns
                    with T.Scope("V"):
                        if tile % num == r:
                            T.wait_ge(made[tile], step)
                            T.copy(parts[0, row, column], total)
                            for s in T.serial(num - 1):
                                T.wait_ge(made[(s + 1) * tiles + tile], step)
                                T.copy(parts[s + 1, row, column], term)
                                for i, j in T.Parallel(rows, columns):
                                    total[i, j] = total[i, j] + term[i, j]
                            T.copy(total, rounded)
                            for s in T.serial(num):
                                to = (r + s + cid) % num
                                T.put_signal(rounded, C[row, column], summed[tile], step, to)
                for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                    with T.Scope("V"):
                        T.wait_ge(summed[cid + t * blocks], step)

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 170, 200, 130), (8, 128, 200, 64)):
        kernel = gemm_ar(ranks, m, n, k, rows=64, blocks=3)
        a, b = torch.randn(ranks, m, k).half(), torch.randn(ranks, k, n).half()
        with Ranks(ranks) as world:
            parts, c = world.zeros((ranks, m, n), torch.float32), world.zeros((m, n), torch.float16)
            tiles = T.ceildiv(m, 64) * T.ceildiv(n, 128)
            made, summed = world.signals(ranks * tiles), world.signals(tiles)
            world.launch(kernel, list(a), list(b), parts, made, c, summed, 1)
        expected = (a.float() @ b.float()).sum(0)
        title = f"gemm and all-reduce {m}x{n}x{k}"
        report_ranks(title, list(c), [expected] * ranks, tolerance=1e-3)


if __name__ == "__main__":
    main()
