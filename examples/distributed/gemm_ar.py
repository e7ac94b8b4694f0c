"""Product and all-reduce in one kernel: C is the sum of A_r @ B_r over r, on every rank.

Tiles have owners in turn. The vector cores put each tile to its owner, in the type of the result,
while the cube core makes the next one. A round later all blocks of the owner share the work on its
tiles of that round, some rows each: they add the parts of all ranks, in the order of their numbers,
and put the sum to all, each to another rank first, so that all links carry something.
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


def stripes_of(rows: int, blocks: int, ranks: int) -> int:
    """Into how many parts of whole rows a tile is cut, so that all blocks of a rank have one of the
    tiles that it owns of a round."""
    most = max(blocks // T.ceildiv(blocks, ranks), 1)
    return max(n for n in range(1, most + 1) if rows % n == 0)


@T.macro
def add_stripe(parts, made, C, summed, step, t, cid, blocks, rows, stripes, total, term):
    """The block's rows of a tile that its rank owns of round t: their sum, put to all ranks."""
    stripe, columns = total.shape
    down, across = T.ceildiv(C.shape[0], rows), T.ceildiv(C.shape[1], columns)
    tiles = down * across
    with T.Scale("device") as (r, num), T.Scope("V"):
        last = r + cid // stripes * num  # the block that has made this tile
        tile = t * blocks + last
        if t >= 0 and last < blocks and tile < tiles:
            row = tile // across * rows + cid % stripes * stripe
            column = tile % across * columns
            T.wait_ge(made[tile], step)
            T.copy(parts[0, row, column], total)
            for s in T.serial(num - 1):
                T.wait_ge(made[(s + 1) * tiles + tile], step)
                T.copy(parts[s + 1, row, column], term)
                for y, x in T.Parallel(stripe, columns):
                    total[y, x] = total[y, x] + term[y, x]
            T.copy(total, term)
            for s in T.serial(num):
                T.put(term, C[row, column], (r + s + cid) % num)
            T.quiet()
            for s in T.serial(num):
                T.signal(summed[tile * stripes + cid % stripes], step, (r + s) % num)


@T.jit(pass_configs=CONFIGS)
def gemm_ar(
    ranks: int, M: int, N: int, K: int, rows: int = 128, columns: int = 256, depth: int = 128,
    blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    down, across, k_tiles = T.ceildiv(M, rows), T.ceildiv(N, columns), T.ceildiv(K, depth)
    tiles, rounds = down * across, T.ceildiv(down * across, blocks)
    stripes = stripes_of(rows, blocks, ranks)
    stripe = rows // stripes
    stretch = max(STRETCH // depth, 1)
    places = k_tiles // stretch if k_tiles % stretch == 0 else 0

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        parts: T.SymmTensor((ranks, M, N), dtype),
        made: T.Signals(ranks * tiles),
        C: T.SymmTensor((M, N), dtype),
        summed: T.Signals(tiles * stripes),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid, T.Scale("device") as (r, num):
            a = T.alloc_L1((rows, depth), dtype)
            b = T.alloc_L1((depth, columns), dtype)
            c = T.alloc_L0C((rows, columns), "float32")
            part = T.alloc_ub((rows, columns), dtype)
            term = T.alloc_ub((stripe, columns), dtype)
            total = T.alloc_ub((stripe, columns), "float32")
            mine = T.ceildiv(tiles - cid, blocks)
            for t in T.Pipelined(mine, num_stages=2):
                n = cid + t * blocks
                i, j = n // across, n % across
                begin = (i + j) % PLACES * places // PLACES * stretch
                for k in T.Pipelined(k_tiles, num_stages=2):
                    at = (k + begin) % k_tiles * depth
                    T.copy(A[i * rows, at], a)
                    T.copy(B[at, j * columns], b)
                    T.gemm_v0(a, b, c, init=(k == 0))
                if ranks == 1:
                    T.copy(c, C[i * rows, j * columns])
                else:
                    T.copy(c, part)
                    T.put(part, parts[r, i * rows, j * columns], cid % num)
                    T.quiet()
                    T.signal(made[r * tiles + n], step, cid % num)
                    add_stripe(
                        parts, made, C, summed, step, t - 1, cid, blocks, rows, stripes, total, term
                    )
            if ranks > 1:
                for t in T.serial(T.max(mine - 1, 0), rounds):
                    add_stripe(
                        parts, made, C, summed, step, t, cid, blocks, rows, stripes, total, term
                    )
                with T.Scope("V"):
                    for t in T.serial(T.ceildiv(tiles * stripes - cid, blocks)):
                        T.wait_ge(summed[cid + t * blocks], step)

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 170, 200, 130), (8, 128, 200, 64)):
        kernel = gemm_ar(ranks, m, n, k, rows=64, columns=128, blocks=4)
        a, b = torch.randn(ranks, m, k).half(), torch.randn(ranks, k, n).half()
        with Ranks(ranks) as world:
            parts, c = world.zeros((ranks, m, n), torch.float16), world.zeros((m, n), torch.float16)
            tiles = T.ceildiv(m, 64) * T.ceildiv(n, 128)
            made = world.signals(ranks * tiles)
            summed = world.signals(tiles * stripes_of(64, 4, ranks))
            world.launch(kernel, list(a), list(b), parts, made, c, summed, 1)
        expected = (a.float() @ b.float()).sum(0)
        title = f"gemm and all-reduce {m}x{n}x{k}"
        report_ranks(title, list(c), [expected] * ranks, tolerance=2e-3)


if __name__ == "__main__":
    main()
