"""Product and reduce-scatter in one kernel: rank p gets the rows p of the sum of A_r @ B_r over r.

Each rank has some of the columns of A and the same rows of B. It multiplies what others wait for
first, a tile for each of them in turn, so that all links carry something, and its own rows last.
The vector cores put a tile to its owner, in the type of the result, while the cube core makes the
next one; to its own tiles they add what others have put, always in the same order: the sum does not
depend on when that arrives. At the end ranks meet: who calls again writes over what others read.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks

# Places along k where tiles begin, at least so much of k apart, as in ag_gemm.py.
PLACES = 8
STRETCH = 512

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


@T.jit(pass_configs=CONFIGS)
def gemm_rs(
    ranks: int, m: int, N: int, K: int, rows: int = 128, columns: int = 256, depth: int = 128,
    blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    down, across, k_tiles = T.ceildiv(m, rows), T.ceildiv(N, columns), T.ceildiv(K, depth)
    tiles, others = down * across, max(ranks - 1, 1)
    stretch = max(STRETCH // depth, 1)
    places = k_tiles // stretch if k_tiles % stretch == 0 else 0

    @T.prim_func
    def kernel(
        A: T.Tensor((ranks, m, K), dtype),
        B: T.Tensor((K, N), dtype),
        parts: T.SymmTensor((ranks, m, N), dtype),
        words: T.Signals(ranks * tiles),
        C: T.Tensor((m, N), dtype),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid, T.Scale("device") as (r, num):
            a = T.alloc_L1((rows, depth), dtype)
            b = T.alloc_L1((depth, columns), dtype)
            c = T.alloc_L0C((rows, columns), "float32")
            part = T.alloc_ub((rows, columns), dtype)
            term = T.alloc_ub((rows, columns), dtype)
            total = T.alloc_ub((rows, columns), "float32")
            for t in T.Pipelined(T.ceildiv(ranks * tiles - cid, blocks), num_stages=2):
                n = cid + t * blocks
                left = n - tiles * (ranks - 1)  # tiles that are left when own ones begin
                owner = T.if_then_else(left < 0, (r + 1 + n % others) % num, r)
                tile = T.if_then_else(left < 0, n // others, left)
                row, column = tile // across * rows, tile % across * columns
                begin = (n % others + tile) % PLACES * places // PLACES * stretch
                for k in T.Pipelined(k_tiles, num_stages=2):
                    at = (k + begin) % k_tiles * depth
                    T.copy(A[owner, row, at], a)
                    T.copy(B[at, column], b)
                    T.gemm_v0(a, b, c, init=(k == 0))
                if ranks == 1:
                    T.copy(c, C[row, column])
                elif left < 0:
                    T.copy(c, part)
                    T.put(part, parts[r, row, column], owner)
                    T.quiet()
                    T.signal(words[r * tiles + tile], step, owner)
                else:
                    T.copy(c, total)
                    for s in T.serial(num - 1):
                        other = (r + 1 + s) % num
                        T.wait_ge(words[other * tiles + tile], step)
                        T.copy(parts[other, row, column], term)
                        for y, x in T.Parallel(rows, columns):
                            total[y, x] = total[y, x] + term[y, x]
                    T.copy(total, C[row, column])
            if ranks > 1:
                T.barrier()

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 70, 200, 130), (8, 64, 96, 64)):
        kernel = gemm_rs(ranks, m, n, k, rows=64, columns=128, blocks=4)
        a, b = torch.randn(ranks, ranks, m, k).half(), torch.randn(ranks, k, n).half()
        c = [torch.zeros(m, n).half() for _ in range(ranks)]
        with Ranks(ranks) as world:
            parts = world.zeros((ranks, m, n), torch.float16)
            words = world.signals(ranks * T.ceildiv(m, 64) * T.ceildiv(n, 128))
            world.launch(kernel, list(a), list(b), parts, words, c, 1)
        expected = list((a.float() @ b[:, None].float()).sum(0))
        report_ranks(f"gemm and reduce-scatter {m}x{n}x{k}", c, expected, tolerance=2e-3)


if __name__ == "__main__":
    main()
