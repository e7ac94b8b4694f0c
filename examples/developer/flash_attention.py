"""Flash attention in developer style: plain, causal, and with grouped queries.

One program for the cube core and both vector cores: products go to the vector cores by a copy, some
rows at a time, and probabilities back by another. All tiles of queries of a core are one loop, so
that no iteration waits for the last of a tile. Under a causal mask tiles end where their queries
do: a core does them in pairs, one from each end, which take as many iterations together as any
other pair, and what is masked on the diagonal is one triangle. Every core begins with other keys,
so that one finds in L2 what its neighbour has brought there. Scores pass L2 in the type `handed`:
float16 takes half the way, and rounds them as a product with results of float16 would.
05_flash_attention.py is the same algorithm with memories, scopes, workspaces and flags by hand.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Scores that a vector core takes at a time, while the next ones are loaded, and keys whose values
# are loaded at a time.
FLOATS = 8192
KEYS = 128
# Tiles of keys that a core begins behind its neighbour, whose loads have arrived by then.
APART = 3


@T.macro
def fill_triangle(later: T.Tensor, rows: int, square: int) -> None:
    """What hides keys on the diagonal of a square, for its last rows; columns further to the left
    are those of rows further up."""
    for i, j in T.Parallel(rows, 2 * square - rows):
        later[i, j] = T.if_then_else(j > i + square - rows, -1e30, 0.0)


@T.macro
def hide_later_keys(
    s: T.Tensor, later: T.Tensor, seen: T.int32, rows: int, square: int, block_N: int
) -> None:
    """Hides the keys after the first `seen` and, on the diagonal, one more for each row."""
    if seen >= 0 and seen < block_N:
        at = seen // square * square
        start = square - rows - seen % square
        for i, j in T.Parallel(rows, square):
            s[i, at + j] = s[i, at + j] + later[i, start + j]
    for b in range(block_N // square):
        if T.max(seen // square + 1, 0) == b:
            for i, j in T.Parallel(rows, block_N - b * square):
                s[i, b * square + j] = -1e30


@T.macro
def weigh(
    s: T.Tensor, before: T.Tensor, peak: T.Tensor, c: T.int32, scale: float, rows: int, block_N: int
) -> None:
    """s = exp(scale * (s - peak)) with the new peaks of the rows."""
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
    """What sums of older peaks shrink by, and the sums of all weights so far."""
    for c, i in T.Parallel(chunks, rows):
        shrink[c, i] = T.exp((before[c, i] - peak[c, i]) * scale)
    for c, i in T.Parallel(chunks, rows):
        total[c, i] = total[c, i] * shrink[c, i] + fresh[c, i]


@T.macro
def add_up(o: T.Tensor, part: T.Tensor, shrink: T.Tensor, c: T.int32, rows: int, D: int) -> None:
    for i, j in T.Parallel(rows, D):
        o[c, i, j] = o[c, i, j] * shrink[c, i] + part[i, j]


@T.macro
def over_sums(o: T.Tensor, sums: T.Tensor, c: T.int32, rows: int, D: int) -> None:
    for i, j in T.Parallel(rows, D):
        o[c, i, j] = o[c, i, j] / sums[c, i]


@T.jit(out_idx=[3], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def flash_attention(
    B: int, H: int, S: int, D: int, block_M: int, block_N: int, groups: int = 1,
    causal: bool = False, dtype: str = "float16", accum: str = "float32", cores: int = 24,
    handed: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    assert S % block_M == 0 and S % block_N == 0, "tiles cover all queries and all keys"
    scale = 1.0 / math.sqrt(D)
    tiles, steps = S // block_M, S // block_N
    work = T.ceildiv(B * H * tiles, 2) if causal else B * H * tiles
    turns = steps + T.ceildiv(block_M, block_N) if causal else steps
    rows = min(block_M, block_N, 2 * FLOATS // block_N)
    chunks = block_M // rows
    square, part_N = min(block_M, block_N), min(block_N, KEYS)

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H // groups, S, D), dtype),
        V: T.Tensor((B, H // groups, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
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
            sums = T.alloc_shared((chunks, rows), accum)
            fresh = T.alloc_shared((chunks, rows), accum)
            later = T.alloc_shared((rows, 2 * square - rows if causal else 8), accum)
            taken = T.alloc_shared((rows, block_N) if handed != accum else (1, 8), handed)

            if causal:
                fill_triangle(later, rows, square)
            for r in T.Pipelined(T.ceildiv(work - cid, cores) * turns, num_stages=3):
                mine = r // turns * cores + cid
                of_first = T.ceildiv((mine % tiles + 1) * block_M, block_N) if causal else turns
                second = r % turns >= of_first
                tile = T.if_then_else(second, B * H * tiles - 1 - mine, mine)
                reach = T.if_then_else(second, turns - of_first, of_first)
                turn = r % turns - T.if_then_else(second, of_first, 0)
                n = (turn + APART * cid) % reach
                first = tile % tiles * block_M
                head = tile // tiles % H
                batch = tile // tiles // H

                if turn == 0:
                    T.copy(Q[batch, head, first : first + block_M, :], q)
                keys = n * block_N
                T.copy(K[batch, head // groups, keys : keys + block_N, :], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                if turn == 0:
                    T.tile.fill(total, 0.0)
                    T.tile.fill(peak, -1e30)
                T.copy(peak, before)
                for c in T.Pipelined(chunks, num_stages=2):
                    if handed == accum:
                        T.copy(scores[c * rows : (c + 1) * rows, :], s)
                    else:
                        T.copy(scores[c * rows : (c + 1) * rows, :], taken)
                        T.copy(taken, s)
                    if causal:
                        seen = first + c * rows - n * block_N
                        hide_later_keys(s, later, seen, rows, square, block_N)
                    weigh(s, before, peak, c, scale, rows, block_N)
                    T.copy(s, p)
                    T.copy(p, weights[c * rows : (c + 1) * rows, :])
                    T.reduce_sum(s, fresh[c, :], dim=-1)
                shrink_totals(total, fresh, before, peak, shrink, scale, chunks, rows)
                T.copy(total, sums)

                for j in T.Pipelined(block_N // part_N, num_stages=4):
                    at = n * block_N + j * part_N
                    T.copy(V[batch, head // groups, at : at + part_N, :], v)
                    T.gemm_v0(weights[:, j * part_N : (j + 1) * part_N], v, product, init=j == 0)
                if turn == 0:
                    T.tile.fill(o, 0.0)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(product[c * rows : (c + 1) * rows, :], part)
                    add_up(o, part, shrink, c, rows, D)
                    if turn == reach - 1:
                        over_sums(o, sums, c, rows, D)
                        T.copy(o[c, :, :], out)
                        at = first + c * rows
                        T.copy(out, Output[batch, head, at : at + rows, :])

    return attention


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, groups: int, causal: bool
) -> torch.Tensor:
    k, v = (x.float().repeat_interleave(groups, 1) for x in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q.float(), k, v, is_causal=causal)


def main() -> None:
    torch.manual_seed(0)
    for B, H, S, D, groups, causal in (
        (1, 4, 512, 128, 1, False),
        (2, 2, 256, 64, 1, True),
        (1, 4, 256, 64, 2, False),
    ):
        q = torch.randn(B, H, S, D).half()
        k, v = (torch.randn(B, H // groups, S, D).half() for _ in range(2))
        what = ("causal " if causal else "") + (f"{groups} queries a key, " if groups > 1 else "")
        run_and_report(
            f"flash attention, {what}{B}x{H}x{S}x{D} float16",
            lambda B=B, H=H, S=S, D=D, groups=groups, causal=causal: flash_attention(
                B, H, S, D, 64, 128 if D == 128 else 64, groups, causal
            ),
            [q, k, v],
            reference(q, k, v, groups, causal),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
