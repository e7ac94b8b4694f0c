"""Decoding with a paged cache, in developer style: one new token of each sequence attends to keys
and values that lie in pages anywhere, as a table of blocks says.

The queries that share a head of keys are the rows of one product. Lengths are any: columns behind
the end of a sequence are masked.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[5], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def paged_attention(
    B: int, H: int, groups: int, D: int, pages: int, page: int, most: int,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    """`most` pages a sequence at the most; `groups` query heads share a head of keys."""
    heads = H // groups
    scale = 1.0 / math.sqrt(D)

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, D), dtype),
        K: T.Tensor((pages, heads, page, D), dtype),
        V: T.Tensor((pages, heads, page, D), dtype),
        table: T.Tensor((B, most), "int32"),
        lengths: T.Tensor((B,), "int32"),
        Output: T.Tensor((B, H, D), dtype),
    ) -> None:
        with T.Kernel(B * heads, threads=2, is_npu=True) as cid:
            batch, head = cid // heads, cid % heads
            first = head * groups
            q = T.alloc_shared((groups, D), dtype)
            k = T.alloc_shared((page, D), dtype)
            v = T.alloc_shared((page, D), dtype)
            scores = T.alloc_fragment((groups, page), accum)
            partial = T.alloc_fragment((groups, D), accum)
            s = T.alloc_shared((groups, page), accum)
            p = T.alloc_shared((groups, page), dtype)
            weights = T.alloc_shared((groups, page), dtype)
            part = T.alloc_shared((groups, D), accum)
            o = T.alloc_shared((groups, D), accum)
            out = T.alloc_shared((groups, D), dtype)
            peak, shrink, total, row_sum = [T.alloc_shared((groups,), accum) for _ in range(4)]

            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[batch, first : first + groups, :], q)
            length = lengths[batch]
            for n in T.Pipelined(T.ceildiv(length, page), num_stages=2):
                T.copy(K[table[batch, n], head, :, :], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                for i, j in T.Parallel(groups, page):
                    s[i, j] = T.if_then_else(n * page + j < length, s[i, j] * scale, -1e30)
                T.copy(peak, shrink)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(groups):
                    peak[i] = T.max(peak[i], shrink[i])
                    shrink[i] = T.exp(shrink[i] - peak[i])
                for i, j in T.Parallel(groups, page):
                    s[i, j] = T.exp(s[i, j] - peak[i])
                T.copy(s, p)
                T.copy(p, weights)
                T.reduce_sum(s, row_sum, dim=-1)
                for i in T.Parallel(groups):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                T.copy(V[table[batch, n], head, :, :], v)
                T.gemm_v0(weights, v, partial, init=True)
                T.copy(partial, part)
                for i, j in T.Parallel(groups, D):
                    o[i, j] = o[i, j] * shrink[i] + part[i, j]
            for i, j in T.Parallel(groups, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, out)
            T.copy(out, Output[batch, first : first + groups, :])

    return attention


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor,
    groups: int,
) -> torch.Tensor:  # fmt: skip
    results = []
    for sequence, length in enumerate(lengths.tolist()):
        # (pages, heads, page, D) -> (query heads, length, D)
        rows = [x[table[sequence].long()].transpose(0, 1).flatten(1, 2) for x in (k, v)]
        keys, values = (x[:, :length].float().repeat_interleave(groups, 0) for x in rows)
        query = q[sequence, :, None].float()
        result = torch.nn.functional.scaled_dot_product_attention(query, keys, values)
        results.append(result[:, 0])
    return torch.stack(results)


def main() -> None:
    torch.manual_seed(0)
    for B, H, groups, D, page, lengths in (
        (2, 32, 16, 128, 128, (1000, 384)),
        (3, 8, 4, 64, 64, (1, 64, 130)),
        (2, 5, 5, 64, 32, (65, 31)),
    ):
        most = -(-max(lengths) // page)
        pages = B * most + 3
        q = torch.randn(B, H, D).half()
        k, v = (torch.randn(pages, H // groups, page, D).half() for _ in range(2))
        table = torch.randperm(pages)[: B * most].reshape(B, most).int()
        long = torch.tensor(lengths, dtype=torch.int32)
        run_and_report(
            f"paged attention, {B} sequences, {H} heads of {D}, {groups} queries a key float16",
            lambda B=B, H=H, groups=groups, D=D, pages=pages, page=page, most=most: paged_attention(
                B, H, groups, D, pages, page, most
            ),
            [q, k, v, table, long],
            reference(q, k, v, table, long, groups),
            tolerance=4e-3,
        )


if __name__ == "__main__":
    main()
