"""All-gather and product in one kernel: C = (A_0; A_1; ...) @ B, where rank r has the rows A_r.

A rank's own rows lie in its place of the gathered ones, as with libraries that gather in place.
Vector cores put them to all others, piece by piece and over all links at a time: each core serves
one rank. A word for each piece says that it is there. Cube cores multiply their own rows meanwhile
and then those of the others in the order in which they arrive: first the first tiles of all.

Tiles begin at different places along k, as in ../developer/gemm.py.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, DTYPES
from tile_ir.costs.links import A2_LINKS
from tile_ir.costs.timing import DEFAULT_TIMING
from tile_runtime import Ranks

# Rows of tiles that cores work on at a time, fewer where rows come from other ranks: the later ones
# of a group would be waited for. Places along k where tiles begin, at least so much of k apart.
GROUP = 8
PLACES = 8
STRETCH = 512
# Cores that put to one rank: while one waits for an arrival the others use the link.
LANES = 3
# Rows that a tile can have, and what a cube core multiplies and accumulates in a cycle.
ROWS = 128, 64
MACS = 4096

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def places_along(k_tiles: int, depth: int) -> tuple[int, int]:
    """How many places tiles can begin at, and how many steps they are apart."""
    stretch = max(STRETCH // depth, 1)
    return (k_tiles // stretch, stretch) if k_tiles % stretch == 0 else (0, 0)


def rows_of(ranks: int, m: int, N: int, K: int, columns: int, blocks: int, size: int) -> int:
    """The rows of a tile with which the product ends first, by the rates of the model. The last
    tiles, a row of them for each other rank, begin when all pieces have come and all other tiles
    are done."""

    def cycles(rows: int) -> float:
        across = T.ceildiv(N, columns)
        loads = (rows + columns) * K * size / DEFAULT_TIMING.gm_l1_rate
        tile = max(loads, rows * columns * K / MACS)
        whole = T.ceildiv(ranks * T.ceildiv(m, rows) * across, blocks) * tile
        last = T.ceildiv((ranks - 1) * across, blocks) * tile
        links = m * K * size / (A2_LINKS.link_write_bandwidth * 1e3) * DEFAULT_TARGET.clock_mhz
        return max(links, whole - last) + last if ranks > 1 else whole

    return min(ROWS, key=cycles)


@T.macro
def put_pieces(x, words, step, piece, others, lanes, core, cores):
    """Own rows to all other ranks, where `lanes` cores serve each. The first of them begins with a
    whole piece and the others with a half: they do not wait for arrivals at the same time."""
    pieces, half = T.ceildiv(x.shape[1], piece), piece // 2
    with T.Scale("device") as (r, num):
        for pair in T.serial(core, lanes * others, cores):
            to = (r + 1 + pair % others) % num
            for t in T.serial(T.ceildiv(pieces - pair // others, lanes)):
                n = pair // others + t * lanes
                row = n * piece
                if t == 0 and pair >= others:
                    T.put(x[r, row : row + half, :], x[r, row : row + half, :], to)
                    T.quiet()
                    T.put_signal(
                        x[r, row + half : row + piece, :],
                        x[r, row + half : row + piece, :],
                        words[r * pieces + n],
                        step,
                        to,
                    )
                else:
                    T.put_signal(
                        x[r, row : row + piece, :],
                        x[r, row : row + piece, :],
                        words[r * pieces + n],
                        step,
                        to,
                    )


@T.jit(pass_configs=CONFIGS)
def ag_gemm(
    ranks: int, m: int, N: int, K: int, rows: int | None = None, columns: int = 256,
    depth: int = 128, piece: int = 16, blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    if rows is None:
        rows = rows_of(ranks, m, N, K, columns, blocks, DTYPES[dtype].size)
    down, across, k_tiles = T.ceildiv(m, rows), T.ceildiv(N, columns), T.ceildiv(K, depth)
    pieces, others = T.ceildiv(m, piece), max(ranks - 1, 1)
    lanes = max(min(2 * blocks // others, LANES), 1)
    places, stretch = places_along(k_tiles, depth)
    group = GROUP if ranks == 1 else GROUP // 2

    @T.prim_func
    def kernel(
        gathered: T.SymmTensor((ranks, m, K), dtype),
        B: T.Tensor((K, N), dtype),
        words: T.Signals(ranks * pieces),
        C: T.Tensor((ranks, m, N), dtype),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as (cid, vid), T.Scale("device") as (r, num):
            a = T.alloc_L1((rows, depth), dtype)
            b = T.alloc_L1((depth, columns), dtype)
            c = T.alloc_L0C((rows, columns), "float32")
            if ranks > 1:
                with T.Scope("V"):
                    core, cores = 2 * cid + vid, 2 * blocks
                    put_pieces(gathered, words, step, piece, others, lanes, core, cores)
            with T.Scope("C"):
                for t in T.Pipelined(T.ceildiv(ranks * down * across - cid, blocks), num_stages=2):
                    tile = T.use_swizzle(
                        cid + t * blocks, ranks * down * rows, across * columns, K, rows, columns,
                        off=group,
                    )  # fmt: skip
                    i, j = tile // across, tile % across
                    n = T.max(i - down, 0)  # of tiles of other ranks
                    source = T.if_then_else(i < down, r, (r + num - 1 - n % others) % num)
                    row = T.if_then_else(i < down, i, n // others) * rows
                    first, last = row // piece, T.min(T.ceildiv(row + rows, piece), pieces)
                    for p in T.serial(first, T.if_then_else(i < down, first, last)):
                        T.wait_ge(words[source * pieces + p], step)
                    begin = (i + j) % PLACES * places // PLACES * stretch
                    for k in T.Pipelined(k_tiles, num_stages=2):
                        at = (k + begin) % k_tiles * depth
                        T.copy(gathered[source, row, at], a)
                        T.copy(B[at, j * columns], b)
                        T.gemm_v0(a, b, c, init=(k == 0))
                    T.copy(c, C[source, row, j * columns])
            if ranks > 1:
                T.barrier()  # who calls again writes over what others have read

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, m, n, k in ((1, 256, 256, 128), (3, 150, 300, 130), (8, 64, 96, 64)):
        kernel = ag_gemm(ranks, m, n, k, rows=64, columns=128, depth=64, blocks=4)
        a, b = torch.randn(ranks, m, k).half(), torch.randn(ranks, k, n).half()
        c = [torch.zeros(ranks, m, n).half() for _ in range(ranks)]
        with Ranks(ranks) as world:
            gathered = world.zeros((ranks, m, k), torch.float16)
            for rank in range(ranks):
                gathered[rank][rank] = a[rank]
            words = world.signals(ranks * T.ceildiv(m, 16))
            world.launch(kernel, gathered, list(b), words, c, 1)
        expected = [a.float() @ own.float() for own in b]
        report_ranks(f"all-gather and gemm {m}x{n}x{k}", c, expected, tolerance=1e-3)


if __name__ == "__main__":
    main()
