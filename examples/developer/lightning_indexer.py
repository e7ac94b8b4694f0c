"""The indexer of sparse attention in developer style: every token scores all positions with a few
small heads, and keeps the numbers of the best.

A score is the sum over heads of weight * relu(query @ key), which is a product too: of the weights
of a tile of tokens, each in the columns of its own heads, with what relu leaves of the first one.
That stays on the cube core. The keys of a round meet all heads of a tile: they stay in a fragment,
so that loads take less time than products. Rows of scores are too long for the vector cores, so
that they go to memory tile by tile and come back one by one to be sorted, while the cube core
scores the next tokens.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[3, 4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def lightning_indexer(
    tokens: int, H: int, S: int, D: int, chosen: int, block_M: int, block_N: int, block_H: int,
    dtype: str = "float16", accum: str = "float32", cores: int = 24,
) -> T.PrimFunc:  # fmt: skip
    """`block_M` tokens at a time, of which `block_H` rows (a head of a token each) are multiplied
    with `block_N` keys at once."""
    assert tokens % block_M == 0 and S % block_N == 0, "tiles cover all tokens and keys"
    assert block_M * H % block_H == 0, "products cover all rows of a tile"
    rows = block_M * H
    tiles = tokens // block_M

    @T.prim_func
    def indexer(
        Q: T.Tensor((tokens * H, D), dtype),
        K: T.Tensor((S, D), dtype),
        weight: T.Tensor((tokens * H,), dtype),
        scores: T.Tensor((tokens, S), accum),
        indices: T.Tensor((tokens, chosen), "int32"),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((rows, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            products = T.alloc_fragment((block_H, block_N), accum)
            positive = T.alloc_shared((block_H, block_N), dtype)
            given = T.alloc_shared((1, rows), dtype)
            spread = T.alloc_shared((block_M, rows), dtype)
            weights = T.alloc_shared((block_M, rows), dtype)
            score = T.alloc_fragment((block_M, block_N), accum)
            keys = T.alloc_fragment((D, block_N), dtype)
            heads = T.alloc_fragment((block_H, D), dtype)
            left = T.alloc_fragment((block_M, block_H), dtype)
            right = T.alloc_fragment((block_H, block_N), dtype)
            row = T.alloc_shared((1, S), accum)
            pairs = T.alloc_shared((2 * chosen,), accum)
            place = T.alloc_shared((chosen,), accum)
            index = T.alloc_shared((1, chosen), "int32")
            for t in T.Pipelined(T.ceildiv(tiles - cid, cores), num_stages=2):
                first = (cid + t * cores) * block_M
                T.copy(weight[first * H : first * H + rows], given[0, :])
                for i, j in T.Parallel(block_M, rows):
                    spread[i, j] = T.if_then_else(j // H == i, given[0, j], 0.0)
                T.copy(spread, weights)
                T.copy(Q[first * H, 0], q)
                for n in T.Pipelined(S // block_N, num_stages=2):
                    T.copy(K[n * block_N, 0], k)
                    T.copy(k, keys, transpose=True)
                    for h in T.Pipelined(rows // block_H, num_stages=4):
                        part = h * block_H
                        T.copy(q[part : part + block_H, :], heads)
                        T.mma(heads, keys, products, init=True)
                        T.copy(products, positive, enable_relu=True)
                        T.copy(weights[:, part : part + block_H], left)
                        T.copy(positive, right)
                        T.mma(left, right, score, init=(h == 0))
                    T.copy(score, scores[first, n * block_N])
                for i in T.Pipelined(block_M, num_stages=2):
                    T.copy(scores[first + i, 0], row)
                    T.tile.topk(pairs, row, chosen, S)
                    T.tile.gather_mask(place, pairs, "P1010")
                    T.copy(place, index[0, :])
                    T.copy(index, indices[first + i, 0])

    return indexer


def main() -> None:
    torch.manual_seed(0)
    for tokens, H, S, D, chosen, block_M in (
        (128, 16, 2048, 64, 256, 32),
        (32, 4, 256, 128, 32, 32),
    ):
        q, k = torch.randn(tokens, H, D).half(), torch.randn(S, D).half()
        weight = torch.rand(tokens, H).half()
        scores = (torch.relu(q.float() @ k.float().T) * weight[..., None].float()).sum(1)
        run_and_report(
            f"indexer, {chosen} of {S} positions, {tokens} tokens, {H} heads of {D} float16",
            lambda tokens=tokens, H=H, S=S, D=D, chosen=chosen, block_M=block_M: lightning_indexer(
                tokens, H, S, D, chosen, block_M, 128, 64
            ),
            [q.flatten(0, 1), k, weight.flatten()],
            torch.cat([scores, scores.topk(chosen).values], -1),
            tolerance=1e-3,
            call=lambda kernel, *inputs: both(*kernel(*inputs)),
        )


def both(scores: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The scores, and those that were chosen: equal ones may be chosen in any order."""
    return torch.cat([scores, scores.gather(1, indices.long())], -1)


if __name__ == "__main__":
    main()
