"""The kernel of attention: flash attention with grouped queries.

It is one loop over all tiles of a core, so that no round waits for the last one of a tile. Under a
causal mask or a window, tiles of keys without one that counts are left out.
"""

from __future__ import annotations

from typing import Any

import tile_frontend as T

from .key_masks import HIDDEN, fill_gaps, hide_keys
from .tiles import CORES

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
KEYS = 128  # whose values are loaded at a time


def halves(count: Any, paired: bool) -> Any:
    """Items of work: pairs of tiles, one from each end, or tiles alone."""
    return T.ceildiv(count, 2) if paired else count


def place_in_pair(r: Any, cid: Any, rounds: Any, tiles: Any, reach: Any, paired: bool) -> Any:
    """Return tile, turn and turns of a core's round.

    `reach` gives the turns of the first tile of an item; the second one takes those that are left.
    The tiles of a causal mask need as many rounds in pairs as any other pair, or one less.
    """
    item, at = r // rounds * CORES + cid, r % rounds
    if not paired:
        return item, at, rounds
    of_first = reach(item)
    second = at >= of_first
    return (
        T.if_then_else(second, tiles - 1 - item, item),
        at - T.if_then_else(second, of_first, 0),
        T.if_then_else(second, rounds - of_first, of_first),
    )


def rounds_of_queries(S: Any, L: Any, causal: bool, window: int, block_M: int, block_N: int) -> Any:
    """Compute how many tiles of keys an item of tiles of queries takes, at most."""
    every = T.ceildiv(L, block_N)
    if window:
        return T.min((window + block_M - 2) // block_N + 2, every)
    if causal:
        wider = max(block_M // block_N, 1)
        return T.min(T.ceildiv(T.ceildiv(S, block_M) * block_M, block_N) + wider, 2 * every)
    return every


def place_of_queries(
    r: Any, cid: Any, batches: Any, S: Any, L: Any, H: int, causal: bool, window: int,
    block_M: int, block_N: int,
) -> Any:  # fmt: skip
    """Return batch, head, first query, first key, turn and turns of a core's round.

    Cores begin with other keys: one finds in L2 what its neighbour has loaded.
    """
    tiles = T.ceildiv(S, block_M)
    rounds = rounds_of_queries(S, L, causal, window, block_M, block_N)

    def reach(item: Any) -> Any:
        return T.min(T.ceildiv((item % tiles + 1) * block_M, block_N), T.ceildiv(L, block_N))

    tile, turn, turns = place_in_pair(
        r, cid, rounds, batches * H * tiles, reach, causal and not window
    )
    first = tile % tiles * block_M
    begin = T.max(first - window + 1, 0) // block_N if window else 0
    key = (begin + (turn + cid) % turns) * block_N
    return tile // tiles // H, tile // tiles % H, first, key, turn, turns


@T.macro
def weigh(
    s: T.Tensor, before: T.Tensor, peak: T.Tensor, c: T.int32, scale: float, rows: int, block_N: int
) -> None:
    """Turn scores into weights by the new peaks of their rows: exp(scale * (s - peak))."""
    T.reduce_max(s, peak[c, :], dim=-1)
    for i in T.Parallel(rows):
        peak[c, i] = T.max(peak[c, i], before[c, i])
    for i, j in T.Parallel(rows, block_N):
        s[i, j] = T.exp((s[i, j] - peak[c, i]) * scale)


@T.macro
def shrink_totals(
    total: T.Tensor, fresh: T.Tensor, before: T.Tensor, peak: T.Tensor, shrink: T.Tensor,
    scale: float, chunks: int, rows: int,
) -> None:  # fmt: skip
    """Compute the factors of sums with older peaks, and the sums of all weights so far."""
    for c, i in T.Parallel(chunks, rows):
        shrink[c, i] = T.exp((before[c, i] - peak[c, i]) * scale)
    for c, i in T.Parallel(chunks, rows):
        total[c, i] = total[c, i] * shrink[c, i] + fresh[c, i]


@T.macro
def add_up(o: T.Tensor, part: T.Tensor, shrink: T.Tensor, c: T.int32, rows: int, D: int) -> None:
    """Add weighted values to the smaller sum of those before."""
    for i, j in T.Parallel(rows, D):
        o[c, i, j] = o[c, i, j] * shrink[c, i] + part[i, j]


@T.macro
def over_sums(o: T.Tensor, sums: T.Tensor, c: T.int32, rows: int, D: int) -> None:
    """Divide weighted values by the sums of weights."""
    for i, j in T.Parallel(rows, D):
        o[c, i, j] = o[c, i, j] / sums[c, i]


@T.jit(out_idx=[3, 4], pass_configs=AUTOMATIC)
def attention(
    H: int, G: int, D: int, scale: float, causal: bool, window: int, dtype: str,
    block_M: int, block_N: int, rows: int,
) -> T.PrimFunc:  # fmt: skip
    batches, S, L = T.symbolic("batches"), T.symbolic("S"), T.symbolic("L")
    accum = "float32"
    chunks, parts = block_M // rows, max(block_N // KEYS, 1)
    part_N, columns = block_N // parts, min(block_M, block_N)

    @T.prim_func
    def kernel(
        Q: T.Tensor((batches, H, S, D), dtype),
        K: T.Tensor((batches, G, L, D), dtype),
        V: T.Tensor((batches, G, L, D), dtype),
        Output: T.Tensor((batches, H, S, D), dtype),
        logsum: T.Tensor((batches, H, S), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((part_N, D), dtype)
            weights = T.alloc_shared((block_M, block_N), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            product = T.alloc_fragment((block_M, D), accum)
            s = T.alloc_shared((rows, block_N), accum)
            p = T.alloc_shared((rows, block_N), dtype)
            part = T.alloc_shared((rows, D), accum)
            o = T.alloc_shared((chunks, rows, D), accum)
            out = T.alloc_shared((rows, D), dtype)
            before = T.alloc_shared((chunks, rows), accum)
            peak = T.alloc_shared((chunks, rows), accum)
            shrink = T.alloc_shared((chunks, rows), accum)
            total = T.alloc_shared((chunks, rows), accum)
            fresh = T.alloc_shared((chunks, rows), accum)
            sums = T.alloc_shared((chunks, rows), accum)
            logs = T.alloc_shared((chunks, rows), accum)
            gaps = T.alloc_shared((rows, columns), accum)
            ends = T.alloc_shared((block_N,), accum)
            if causal:
                fill_gaps(gaps, ends, rows, columns)
            items = halves(batches * H * T.ceildiv(S, block_M), causal and not window)
            rounds = rounds_of_queries(S, L, causal, window, block_M, block_N)
            for r in T.Pipelined(T.ceildiv(items - cid, CORES) * rounds, num_stages=3):
                batch, head, first, key, turn, turns = place_of_queries(
                    r, cid, batches, S, L, H, causal, window, block_M, block_N
                )
                if turn == 0:
                    T.copy(Q[batch, head, first : first + block_M, :], q)
                T.copy(K[batch, head // (H // G), key : key + block_N, :], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                if turn == 0:
                    T.tile.fill(total, 0.0)
                    T.tile.fill(peak, HIDDEN)
                T.copy(peak, before)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(scores[c * rows : (c + 1) * rows, :], s)
                    at = first + c * rows
                    hide_keys(s, gaps, ends, at, key, L, causal, window, rows, block_N, columns)
                    weigh(s, before, peak, c, scale, rows, block_N)
                    T.copy(s, p)
                    T.copy(p, weights[c * rows : (c + 1) * rows, :])
                    T.reduce_sum(s, fresh[c, :], dim=-1)
                shrink_totals(total, fresh, before, peak, shrink, scale, chunks, rows)
                T.copy(total, sums)
                for c, i in T.Parallel(chunks, rows):
                    logs[c, i] = peak[c, i] * scale + T.log(total[c, i])

                for j in T.Pipelined(parts, num_stages=4):
                    at = key + j * part_N
                    T.copy(V[batch, head // (H // G), at : at + part_N, :], v)
                    T.gemm_v0(weights[:, j * part_N : (j + 1) * part_N], v, product, init=j == 0)
                if turn == 0:
                    T.tile.fill(o, 0.0)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(product[c * rows : (c + 1) * rows, :], part)
                    add_up(o, part, shrink, c, rows, D)
                    if turn == turns - 1:
                        over_sums(o, sums, c, rows, D)
                        T.copy(o[c, :, :], out)
                        at = first + c * rows
                        T.copy(out, Output[batch, head, at : at + rows, :])
                        T.copy(logs[c, :], logsum[batch, head, at : at + rows])

    return kernel
