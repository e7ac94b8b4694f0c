"""Sparse attention in developer style: each token attends to the rows its own list names.

Keys and values are one latent row of D numbers a position, and R numbers of rotated key beside it,
shared by all heads (as in mla.py). The lists come from an indexer (lightning_indexer.py). Rows are
loaded one by one, each to its place in the tile that both products read, and then are a tile as any
other; the last tile of a list may be shorter. All rounds of a core are one loop, so that the next
token begins while the last one ends. A round goes to the vector cores and back: it takes several
stages, and a tile for each, until neither kind of core waits for the other.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.macro
def store_over_sums(
    o: T.Tensor, sums: T.Tensor, out: T.Tensor, Output: T.Tensor, token: T.int32, H: int,
    width: int, parts: int,
) -> None:  # fmt: skip
    """Turns weighted values into means, part by part."""
    for c in T.Pipelined(parts, num_stages=2):
        at = c * width
        for i, j in T.Parallel(H, width):
            o[i, at + j] = o[i, at + j] / sums[i]
        T.copy(o[:, at : at + width], out)
        T.copy(out, Output[token, :, at : at + width])


@T.jit(out_idx=[3], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def sparse_attention(
    tokens: int, H: int, S: int, D: int, R: int, chosen: int, block_N: int, parts: int = 4,
    dtype: str = "float16", accum: str = "float32", cores: int = 24,
) -> T.PrimFunc:  # fmt: skip
    assert D % parts == 0, "parts cover all values"
    scale = 1.0 / math.sqrt(D + R)
    width, turns = D // parts, T.ceildiv(chosen, block_N)
    left = chosen - (turns - 1) * block_N

    @T.prim_func
    def attention(
        Q: T.Tensor((tokens, H, D + R), dtype),
        KV: T.Tensor((S, D + R), dtype),
        indices: T.Tensor((tokens, chosen), "int32"),
        Output: T.Tensor((tokens, H, D), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((H, D + R), dtype)
            kv = T.alloc_shared((block_N, D + R), dtype)
            scores = T.alloc_fragment((H, block_N), accum)
            partial = T.alloc_fragment((H, width), accum)
            s = T.alloc_shared((H, block_N), accum)
            p = T.alloc_shared((H, block_N), dtype)
            weights = T.alloc_shared((H, block_N), dtype)
            part = T.alloc_shared((H, width), accum)
            o = T.alloc_shared((H, D), accum)
            out = T.alloc_shared((H, width), dtype)
            before, peak, shrink, total, sums, row_sum = [
                T.alloc_shared((H,), accum) for _ in range(6)
            ]

            for r in T.Pipelined(T.ceildiv(tokens - cid, cores) * turns, num_stages=4):
                token, n = r // turns * cores + cid, r % turns
                for i in T.serial(block_N):
                    T.copy(KV[indices[token, T.min(n * block_N + i, chosen - 1)], :], kv[i, :])
                if n == 0:
                    T.copy(Q[token, :, :], q)
                T.gemm_v0(q, kv, scores, transpose_B=True, init=True)
                if n == 0:
                    T.tile.fill(total, 0.0)
                    T.tile.fill(peak, -1e30)
                T.copy(peak, before)
                T.copy(scores, s)
                if left < block_N and n == turns - 1:
                    T.tile.fill(s[:, left:], -1e30)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(H):
                    peak[i] = T.max(peak[i], before[i])
                    shrink[i] = T.exp((before[i] - peak[i]) * scale)
                for i, j in T.Parallel(H, block_N):
                    s[i, j] = T.exp((s[i, j] - peak[i]) * scale)
                T.copy(s, p)
                T.copy(p, weights)
                T.reduce_sum(s, row_sum, dim=-1)
                for i in T.Parallel(H):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                T.copy(total, sums)
                if n == 0:
                    T.tile.fill(o, 0.0)
                for c in range(parts):
                    at = c * width
                    T.gemm_v0(weights, kv[:, at : at + width], partial, init=True)
                    T.copy(partial, part)
                    for i, j in T.Parallel(H, width):
                        o[i, at + j] = o[i, at + j] * shrink[i] + part[i, j]
                if n == turns - 1:
                    store_over_sums(o, sums, out, Output, token, H, width, parts)

    return attention


def main() -> None:
    torch.manual_seed(0)
    for tokens, H, S, D, R, chosen, block_N in (
        (26, 64, 2048, 512, 64, 256, 64),
        (5, 16, 100, 128, 64, 64, 48),
    ):
        q, kv = torch.randn(tokens, H, D + R).half(), torch.randn(S, D + R).half()
        indices = torch.stack([torch.randperm(S)[:chosen] for _ in range(tokens)]).int()
        rows = kv[indices.long()].float()
        weights = torch.softmax(q.float() @ rows.mT / math.sqrt(D + R), -1)
        run_and_report(
            f"sparse attention, {chosen} of {S} rows, {tokens} tokens, {H} heads float16",
            lambda tokens=tokens, H=H, S=S, D=D, R=R, chosen=chosen, block_N=block_N: (
                sparse_attention(tokens, H, S, D, R, chosen, block_N)
            ),
            [q, kv, indices],
            weights @ rows[..., :D],
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
