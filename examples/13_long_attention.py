"""Attention over many keys: two tiles of queries take turns with the same keys and values.

developer/flash_attention.py, but for two things. Keys and values are loaded once for all tiles
that are `together`, which halves what a core loads where there are many keys. They take the room in
L1 that weights had, so that the author hands weights over through a workspace: vector cores store
them so that those of some keys are side by side, and the cube core loads so many at a time. All
else is left to the compiler: memories, cores, flags and which rounds overlap. A causal kernel does
tiles in pairs, one from each end, which take as many rounds together as any other pair.
"""

import math
from functools import partial

import torch
from report import run_and_report

import tile_frontend as T

# Scores that a vector core takes at a time, while the next ones are loaded, and keys whose weights
# are loaded at a time.
FLOATS = 8192
KEYS = 128


@T.macro
def fill_triangle(later: T.Tensor, rows: int, square: int, columns: int) -> None:
    """What hides keys on the diagonal of a square, for its last rows; columns further to the left
    are those of rows further up. So many columns at a time, which takes working memory for them."""
    for b in T.serial((2 * square - rows) // columns):
        for i, j in T.Parallel(rows, columns):
            later[i, b * columns + j] = (
                T.min(T.max(b * columns + j - i - square + rows, 0), 1) * -1e30
            )


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
    s: T.Tensor, before: T.Tensor, peak: T.Tensor, c: T.int32, g: T.int32, scale: float, rows: int,
    block_N: int,
) -> None:  # fmt: skip
    """s = exp(scale * (s - peak)) with the new peaks of the rows."""
    T.reduce_max(s, peak[g, :], dim=-1)
    for i in T.Parallel(rows):
        peak[g, i] = T.max(peak[g, i], before[c, i])
    for i, j in T.Parallel(rows, block_N):
        s[i, j] = T.exp((s[i, j] - peak[g, i]) * scale)


@T.macro
def hand_over(
    p: T.Tensor, workspace: T.Tensor, cid: T.int32, c: T.int32, rows: int, parts: int, part_N: int
) -> None:
    """Puts weights where the cube core finds those of some keys side by side."""
    for j in range(parts):
        keys = j * part_N
        T.copy(p[:, keys : keys + part_N], workspace[cid, j, c * rows : (c + 1) * rows, :])


@T.macro
def shrink_totals(
    total: T.Tensor, fresh: T.Tensor, before: T.Tensor, peak: T.Tensor, shrink: T.Tensor,
    own: T.int32, scale: float, chunks: int, rows: int,
) -> None:  # fmt: skip
    """What sums of older peaks shrink by, and the sums of all weights so far."""
    for c, i in T.Parallel(chunks, rows):
        shrink[c, i] = T.exp((before[c, i] - peak[own + c, i]) * scale)
    for c, i in T.Parallel(chunks, rows):
        total[own + c, i] = total[own + c, i] * shrink[c, i] + fresh[c, i]


@T.macro
def add_up(
    o: T.Tensor, part: T.Tensor, shrink: T.Tensor, c: T.int32, g: T.int32, rows: int, D: int
) -> None:
    for i, j in T.Parallel(rows, D):
        o[g, i, j] = o[g, i, j] * shrink[c, i] + part[i, j]


@T.macro
def over_sums(o: T.Tensor, sums: T.Tensor, c: T.int32, g: T.int32, rows: int, D: int) -> None:
    for i, j in T.Parallel(rows, D):
        o[g, i, j] = o[g, i, j] / sums[c, i]


@T.jit(out_idx=[3], workspace_idx=[4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def long_attention(
    B: int, H: int, S: int, D: int, block_M: int, block_N: int, groups: int = 1,
    causal: bool = False, dtype: str = "float16", accum: str = "float32", cores: int = 24,
    together: int = 2,
) -> T.PrimFunc:  # fmt: skip
    scale = 1.0 / math.sqrt(D)
    span = together * block_M
    assert S % span == 0 and S % block_N == 0, "tiles cover all queries and all keys"
    tiles, steps = S // span, S // block_N
    work = T.ceildiv(B * H * tiles, 2) if causal else B * H * tiles
    turns = steps + T.ceildiv(span, block_N) if causal else steps
    rows = min(block_M, block_N, 2 * FLOATS // block_N)
    chunks = block_M // rows
    square, part_N = min(block_M, block_N), min(block_N, KEYS)
    parts = block_N // part_N

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H // groups, S, D), dtype),
        V: T.Tensor((B, H // groups, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
        workspace: T.Tensor((cores, parts, block_M, part_N), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((together, block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            v = T.alloc_shared((block_N, D), dtype)
            weights = T.alloc_shared((block_M, part_N), dtype)
            scores = T.alloc_fragment((block_M, block_N), accum)
            product = T.alloc_fragment((block_M, D), accum)
            s = T.alloc_shared((rows, block_N), accum)
            p = T.alloc_shared((rows, block_N), dtype)
            part = T.alloc_shared((rows, D), accum)
            o = T.alloc_shared((together * chunks, rows, D), accum)
            out = T.alloc_shared((rows, D), dtype)
            before = T.alloc_shared((chunks, rows), accum)
            peak = T.alloc_shared((together * chunks, rows), accum)
            shrink = T.alloc_shared((chunks, rows), accum)
            total = T.alloc_shared((together * chunks, rows), accum)
            sums = T.alloc_shared((chunks, rows), accum)
            fresh = T.alloc_shared((chunks, rows), accum)
            later = T.alloc_shared((rows, 2 * square - rows if causal else 8), accum)

            if causal:
                fill_triangle(later, rows, square, 16 if together > 1 else 2 * square - rows)
            for r in T.Pipelined(T.ceildiv(work - cid, cores) * turns * together, num_stages=3):
                one, step = r % together, r // together
                mine = step // turns * cores + cid
                of_first = T.ceildiv((mine % tiles + 1) * span, block_N) if causal else turns
                second = step % turns >= of_first
                tile = T.if_then_else(second, B * H * tiles - 1 - mine, mine)
                reach = T.if_then_else(second, turns - of_first, of_first)
                turn = step % turns - T.if_then_else(second, of_first, 0)
                n = (turn + cid) % reach
                first = tile % tiles * span + one * block_M
                head = tile // tiles % H
                batch = tile // tiles // H
                keys = n * block_N
                own = one * chunks

                if turn == 0:
                    T.copy(Q[batch, head, first : first + block_M, :], q[one, :, :])
                if one == 0:
                    T.copy(K[batch, head // groups, keys : keys + block_N, :], k)
                T.gemm_v0(q[one, :, :], k, scores, transpose_B=True, init=True)
                if turn == 0:
                    T.tile.fill(total[own : own + chunks, :], 0.0)
                    T.tile.fill(peak[own : own + chunks, :], -1e30)
                T.copy(peak[own : own + chunks, :], before)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(scores[c * rows : (c + 1) * rows, :], s)
                    if causal:
                        seen = first + c * rows - keys
                        hide_later_keys(s, later, seen, rows, square, block_N)
                    weigh(s, before, peak, c, own + c, scale, rows, block_N)
                    T.copy(s, p)
                    hand_over(p, workspace, cid, c, rows, parts, part_N)
                    T.reduce_sum(s, fresh[c, :], dim=-1)
                shrink_totals(total, fresh, before, peak, shrink, own, scale, chunks, rows)
                T.copy(total[own : own + chunks, :], sums)

                if one == 0:
                    T.copy(V[batch, head // groups, keys : keys + block_N, :], v)
                for j in T.Pipelined(parts, num_stages=4):
                    T.copy(workspace[cid, j, :, :], weights)
                    T.gemm_v0(weights, v[j * part_N : (j + 1) * part_N, :], product, init=j == 0)
                if turn == 0:
                    T.tile.fill(o[own : own + chunks, :, :], 0.0)
                for c in T.Pipelined(chunks, num_stages=2):
                    T.copy(product[c * rows : (c + 1) * rows, :], part)
                    add_up(o, part, shrink, c, own + c, rows, D)
                    if turn == reach - 1:
                        over_sums(o, sums, c, own + c, rows, D)
                        T.copy(o[own + c, :, :], out)
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
            f"long attention, {what}{B}x{H}x{S}x{D} float16",
            partial(long_attention, B, H, S, D, 64, 128 if D == 128 else 64, groups, causal),
            [q, k, v],
            reference(q, k, v, groups, causal),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
