"""Product and reduce-scatter in one kernel: rank p gets the rows p of the sum of A_r @ B_r over r.

Each rank has some of the columns of A and the same rows of B. It multiplies what others wait for
first and its own rows last. The vector cores put a tile to its owner while the cube core makes the
next one. The owner adds the parts of all ranks in the order of their numbers: the sum is the same
however they arrive. At the end ranks meet: who calls again writes over what others have read.
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
def gemm_rs(
    ranks: int, m: int, N: int, K: int, rows: int = 128, columns: int = 128, depth: int = 64,
    blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    down, across = T.ceildiv(m, rows), T.ceildiv(N, columns)
    tiles = down * across

    @T.prim_func
    def kernel(
        A: T.Tensor((ranks, m, K), dtype),
        B: T.Tensor((K, N), dtype),
        parts: T.SymmTensor((ranks, m, N), "float32"),
        words: T.Signals(ranks * tiles),
        C: T.Tensor((m, N), dtype),
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
                for s in T.serial(num):
                    owner = (r + 1 + s) % num
                    for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                        tile = cid + t * blocks
                        row = tile // across * rows
                        column = tile % across * columns
                        for k in T.serial(T.ceildiv(K, depth)):
                            T.copy(A[owner, row, k * depth], a)
                            T.copy(B[k * depth, column], b)
                            T.gemm_v0(a, b, c, init=(k == 0))
                        T.copy(c, parts[r, row, column], dst_pe=owner)
                        T.quiet()
                        T.signal(words[r * tiles + tile], step, owner)
                for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                    tile = cid + t * blocks
                    row = tile // across * rows
                    column = tile % across * columns
                    with T.Scope("V"):
                        T.wait_ge(words[tile], step)
                        T.copy(parts[0, row, column], total)
                        for s in T.serial(num - 1):
                            T.wait_ge(words[(s + 1) * tiles + tile], step)
                            T.copy(parts[s + 1, row, column], term)
                            for i, j in T.Parallel(rows, columns):
                                total[i, j] = total[i, j] + term[i, j]
                        T.copy(total, rounded)
                        T.copy(rounded, C[row, column])
                T.barrier()

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 70, 200, 130), (8, 64, 96, 64)):
        kernel = gemm_rs(ranks, m, n, k, rows=64, blocks=4)
        a, b = torch.randn(ranks, ranks, m, k).half(), torch.randn(ranks, k, n).half()
        c = [torch.zeros(m, n).half() for _ in range(ranks)]
        with Ranks(ranks) as world:
            parts = world.zeros((ranks, m, n), torch.float32)
            words = world.signals(ranks * T.ceildiv(m, 64) * T.ceildiv(n, 128))
            world.launch(kernel, list(a), list(b), parts, words, c, 1)
        expected = list((a.float() @ b[:, None].float()).sum(0))
        report_ranks(f"gemm and reduce-scatter {m}x{n}x{k}", c, expected, tolerance=1e-3)


if __name__ == "__main__":
    main()
