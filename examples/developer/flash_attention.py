"""Flash attention in developer style: plain, causal, and with grouped queries.

One program for the cube core and both vector cores: products go to the vector cores by a copy, some
rows at a time, and probabilities back by another. All tiles of queries of a core are one loop, so
that no round waits for the last of a tile. Under a causal mask tiles end where their queries do: a
core does them in pairs, one from each end, so that all have as much to do, and what is masked on
the diagonal is one triangle. 05_flash_attention.py is the same algorithm with memories, scopes,
workspaces and flags by hand.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Scores that a vector core has at a time, and keys whose values are loaded at a time.
FLOATS = 16384
KEYS = 128


@T.macro
def fill_triangle(later: T.Tensor, rows: int) -> None:
    for i, j in T.Parallel(rows, rows):
        later[i, j] = T.if_then_else(j > i, -1e30, 0.0)


@T.macro
def hide_later_keys(s: T.Tensor, later: T.Tensor, same: T.int32, rows: int, block_N: int) -> None:
    """Of the blocks of keys from number `same` on: a triangle of the first, all of the others."""
    for b in T.serial(T.max(same, 0), block_N // rows):
        if b == same:
            for i, j in T.Parallel(rows, rows):
                s[i, b * rows + j] = s[i, b * rows + j] + later[i, j]
        else:
            for i, j in T.Parallel(rows, rows):
                s[i, b * rows + j] = -1e30


@T.macro
def weigh(
    s: T.Tensor, peak: T.Tensor, shrink: T.Tensor, c: T.int32, scale: float, rows: int, block_N: int
) -> None:
    """s = exp(scale * (s - peak)) with the new peaks of the rows, and by what old sums shrink."""
    T.copy(peak[c, :], shrink[c, :])
    T.reduce_max(s, peak[c, :], dim=-1)
    for i in T.Parallel(rows):
        peak[c, i] = T.max(peak[c, i], shrink[c, i])
        shrink[c, i] = T.exp((shrink[c, i] - peak[c, i]) * scale)
    for i, j in T.Parallel(rows, block_N):
        s[i, j] = T.exp((s[i, j] - peak[c, i]) * scale)


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
) -> T.PrimFunc:  # fmt: skip
    scale = 1.0 / math.sqrt(D)
    tiles, steps = S // block_M, S // block_N
    pairs = T.ceildiv(B * H * tiles, 2)
    rows = min(block_M, block_N, 2 * FLOATS // block_N)
    chunks = block_M // rows
    part_N = min(block_N, KEYS)

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
            peak = T.alloc_shared((chunks, rows), accum)
            shrink = T.alloc_shared((chunks, rows), accum)
            total = T.alloc_shared((chunks, rows), accum)
            sums = T.alloc_shared((chunks, rows), accum)
            row_sum = T.alloc_shared((rows,), accum)
            later = T.alloc_shared((rows, rows if causal else 8), accum)

            if causal:
                fill_triangle(later, rows)
            for t in T.serial(2 * T.ceildiv(pairs - cid, cores) if causal else 1):
                pair = t // 2 * cores + cid
                mine = T.if_then_else(t % 2 == 0, pair, B * H * tiles - 1 - pair)
                reach = T.ceildiv((mine % tiles + 1) * block_M, block_N) if causal else steps
                of_all = T.ceildiv(B * H * tiles - cid, cores) * steps
                for r in T.Pipelined(reach if causal else of_all, num_stages=3):
                    tile = mine if causal else r // steps * cores + cid
                    n = r % steps
                    last = n == reach - 1
                    first = tile % tiles * block_M
                    head = tile // tiles % H
                    batch = tile // tiles // H

                    if n == 0:
                        T.copy(Q[batch, head, first : first + block_M, :], q)
                    keys = n * block_N
                    T.copy(K[batch, head // groups, keys : keys + block_N, :], k)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    if n == 0:
                        T.tile.fill(total, 0.0)
                        T.tile.fill(peak, -1e30)
                    for c in T.Pipelined(chunks, num_stages=2):
                        T.copy(scores[c * rows : (c + 1) * rows, :], s)
                        if causal:
                            same = (first + c * rows) // rows - n * (block_N // rows)
                            hide_later_keys(s, later, same, rows, block_N)
                        weigh(s, peak, shrink, c, scale, rows, block_N)
                        T.copy(s, p)
                        T.copy(p, weights[c * rows : (c + 1) * rows, :])
                        T.reduce_sum(s, row_sum, dim=-1)
                        for i in T.Parallel(rows):
                            total[c, i] = total[c, i] * shrink[c, i] + row_sum[i]
                        T.copy(total[c, :], sums[c, :])

                    for j in T.Pipelined(block_N // part_N, num_stages=2):
                        at = n * block_N + j * part_N
                        T.copy(V[batch, head // groups, at : at + part_N, :], v)
                        T.gemm_v0(
                            weights[:, j * part_N : (j + 1) * part_N], v, product, init=j == 0
                        )
                    if n == 0:
                        T.tile.fill(o, 0.0)
                    for c in T.Pipelined(chunks, num_stages=2):
                        T.copy(product[c * rows : (c + 1) * rows, :], part)
                        add_up(o, part, shrink, c, rows, D)
                        if last:
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
