"""All-gather and product in one kernel: C = (A_0; A_1; ...) @ B, where rank r has the rows A_r.

Vector cores put row tiles of their rank to all others while cube cores multiply: their own rows
first, then those of the ranks after them, in the order in which they arrive. A word for each row
tile of each rank says that it is there.
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
def ag_gemm(
    ranks: int, m: int, N: int, K: int, rows: int = 128, columns: int = 256, depth: int = 64,
    blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    tiles, across = T.ceildiv(m, rows), T.ceildiv(N, columns)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, K), dtype),
        B: T.Tensor((K, N), dtype),
        gathered: T.SymmTensor((ranks, m, K), dtype),
        words: T.Signals(ranks * tiles),
        C: T.Tensor((ranks, m, N), dtype),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            a = T.alloc_L1((rows, depth), dtype)
            b = T.alloc_L1((depth, columns), dtype)
            c = T.alloc_L0C((rows, columns), "float32")
            with T.Scale("device") as (r, num):
                with T.Scope("V"):
                    for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                        row = (cid + t * blocks) * rows
                        for s in T.serial(num):
                            to = (r + s + cid) % num
                            T.put_signal(
                                A[row : row + rows, :],
                                gathered[r, row : row + rows, :],
                                words[r * tiles + cid + t * blocks],
                                step,
                                to,
                            )
                with T.Scope("C"):
                    for s in T.serial(num):
                        source = (r + s) % num
                        for t in T.serial(T.ceildiv(tiles * across - cid, blocks)):
                            tile = (cid + t * blocks) // across
                            column = (cid + t * blocks) % across * columns
                            T.wait_ge(words[source * tiles + tile], step)
                            for k in T.serial(T.ceildiv(K, depth)):
                                T.copy(gathered[source, tile * rows, k * depth], a)
                                T.copy(B[k * depth, column], b)
                                T.gemm_v0(a, b, c, init=(k == 0))
                            T.copy(c, C[source, tile * rows, column])
                T.barrier()

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 150, 300, 130), (8, 64, 96, 64)):
        kernel = ag_gemm(ranks, m, n, k, rows=64, columns=128, blocks=4)
        a, b = torch.randn(ranks, m, k).half(), torch.randn(ranks, k, n).half()
        c = [torch.zeros(ranks, m, n).half() for _ in range(ranks)]
        with Ranks(ranks) as world:
            gathered = world.zeros((ranks, m, k), torch.float16)
            words = world.signals(ranks * T.ceildiv(m, 64))
            world.launch(kernel, list(a), list(b), gathered, words, c, 1)
        expected = [a.float() @ own.float() for own in b]
        report_ranks(f"all-gather and gemm {m}x{n}x{k}", c, expected, tolerance=1e-3)


if __name__ == "__main__":
    main()
