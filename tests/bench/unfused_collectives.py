"""Collectives as launches of their own: what the fused operators of many devices are measured by.

They move whole tensors, all links at a time, in the type of the result; sums are added in float32.
"""

from __future__ import annotations

import tile_frontend as T

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
# Rows that are put at a time, columns that are added at a time, and cores that put to one rank.
PIECE = 16
COLUMNS = 512
LANES = 6


def lanes_of(ranks: int, blocks: int) -> int:
    return max(min(2 * blocks // (ranks - 1), LANES), 1)


@T.jit(pass_configs=CONFIGS)
def gather(ranks: int, m: int, n: int, blocks: int = 24, dtype: str = "float16") -> T.PrimFunc:
    """`x[r]` of every rank r to all others."""
    pieces, others, cores = T.ceildiv(m, PIECE), ranks - 1, 2 * blocks
    lanes = lanes_of(ranks, blocks)

    @T.prim_func
    def kernel(
        x: T.SymmTensor((ranks, m, n), dtype), words: T.Signals(ranks * pieces), step: T.int32
    ) -> None:
        with T.Kernel(blocks) as (cid, vid), T.Scale("device") as (r, num), T.Scope("V"):
            core = 2 * cid + vid
            for pair in T.serial(core, lanes * others, cores):
                for t in T.serial(T.ceildiv(pieces - pair // others, lanes)):
                    at = (pair // others + t * lanes) * PIECE
                    T.put_signal(
                        x[r, at : at + PIECE, :],
                        x[r, at : at + PIECE, :],
                        words[r * pieces + at // PIECE],
                        step,
                        (r + 1 + pair % others) % num,
                    )
            for t in T.serial(T.ceildiv(ranks * pieces - core, cores)):
                if (core + t * cores) // pieces != r:
                    T.wait_ge(words[core + t * cores], step)

    return kernel


@T.jit(pass_configs=CONFIGS)
def scattered_sum(
    ranks: int, m: int, n: int, everywhere: bool, blocks: int = 24, dtype: str = "float16",
) -> T.PrimFunc:  # fmt: skip
    """The sum of `x[r]` over all ranks to `y[r]` of rank r, and of all where that is asked."""
    pieces, across, others, cores = (
        T.ceildiv(m, PIECE),
        T.ceildiv(n, COLUMNS),
        ranks - 1,
        2 * blocks,
    )
    lanes, units = lanes_of(ranks, blocks), pieces * across

    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, m, n), dtype),
        parts: T.SymmTensor((ranks, m, n), dtype),
        words: T.Signals(ranks * pieces),
        y: T.SymmTensor((ranks, m, n), dtype),
        done: T.Signals(ranks * units),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as (cid, vid), T.Scale("device") as (r, num), T.Scope("V"):
            total = T.alloc_ub((PIECE, COLUMNS), "float32")
            term = T.alloc_ub((PIECE, COLUMNS), dtype)
            core = 2 * cid + vid
            for pair in T.serial(core, lanes * others, cores):
                to = (r + 1 + pair % others) % num
                for t in T.serial(T.ceildiv(pieces - pair // others, lanes)):
                    at = (pair // others + t * lanes) * PIECE
                    T.put_signal(
                        x[to, at : at + PIECE, :],
                        parts[r, at : at + PIECE, :],
                        words[r * pieces + at // PIECE],
                        step,
                        to,
                    )
            for t in T.Pipelined(T.ceildiv(units - core, cores), num_stages=2):
                unit = core + t * cores
                row, column = unit // across * PIECE, unit % across * COLUMNS
                T.copy(x[r, row, column], total)
                for s in T.serial(others):
                    other = (r + 1 + s) % num
                    T.wait_ge(words[other * pieces + unit // across], step)
                    T.copy(parts[other, row, column], term)
                    for i, j in T.Parallel(PIECE, COLUMNS):
                        total[i, j] = total[i, j] + term[i, j]
                T.copy(total, term)
                if everywhere:
                    for s in T.serial(num):
                        T.put(term, y[r, row, column], (r + s + core) % num)
                    T.quiet()
                    for s in T.serial(num):
                        T.signal(done[r * units + unit], step, (r + s) % num)
                else:
                    T.copy(term, y[r, row, column])
            if everywhere:
                for t in T.serial(T.ceildiv(ranks * units - core, cores)):
                    T.wait_ge(done[core + t * cores], step)

    return kernel
