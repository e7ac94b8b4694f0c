"""The indexer of sparse attention in developer style: every token scores all positions with a few
small heads, and keeps the numbers of the best.

A score is the sum over heads of weight * relu(query @ key). Rows of scores are too long for the
vector cores, so that they go to memory tile by tile and come back one by one to be sorted.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[3, 4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def lightning_indexer(
    tokens: int, H: int, S: int, D: int, chosen: int, block_M: int, block_N: int,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    @T.prim_func
    def indexer(
        Q: T.Tensor((H, tokens, D), dtype),
        K: T.Tensor((S, D), dtype),
        weight: T.Tensor((H, tokens), accum),
        scores: T.Tensor((tokens, S), accum),
        indices: T.Tensor((tokens, chosen), "int32"),
    ) -> None:
        with T.Kernel(tokens // block_M, threads=2, is_npu=True) as cid:
            first = cid * block_M
            q = T.alloc_shared((block_M, D), dtype)
            k = T.alloc_shared((block_N, D), dtype)
            products = T.alloc_fragment((block_M, block_N), accum)
            s = T.alloc_shared((block_M, block_N), accum)
            w = T.alloc_shared((block_M,), accum)
            score = T.alloc_shared((block_M, block_N), accum)
            row = T.alloc_shared((1, S), accum)
            pairs = T.alloc_shared((2 * chosen,), accum)
            place = T.alloc_shared((chosen,), accum)
            index = T.alloc_shared((1, chosen), "int32")
            for n in T.serial(S // block_N):
                T.copy(K[n * block_N, 0], k)
                T.tile.fill(score, 0.0)
                for h in T.Pipelined(H, num_stages=2):
                    T.copy(Q[h, first : first + block_M, :], q)
                    T.copy(weight[h, first : first + block_M], w)
                    T.gemm_v0(q, k, products, transpose_B=True, init=True)
                    T.copy(products, s)
                    for i, j in T.Parallel(block_M, block_N):
                        score[i, j] += T.max(s[i, j], 0.0) * w[i]
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
        (128, 16, 2048, 64, 256, 64),
        (32, 4, 256, 128, 32, 32),
    ):
        q, k = torch.randn(H, tokens, D).half(), torch.randn(S, D).half()
        weight = torch.rand(H, tokens)
        scores = (torch.relu(q.float() @ k.float().T) * weight[..., None]).sum(0)
        run_and_report(
            f"indexer, {chosen} of {S} positions, {tokens} tokens, {H} heads of {D} float16",
            lambda tokens=tokens, H=H, S=S, D=D, chosen=chosen, block_M=block_M: lightning_indexer(
                tokens, H, S, D, chosen, block_M, 128
            ),
            [q, k, weight],
            torch.cat([scores, scores.topk(chosen).values], -1),
            tolerance=1e-6,
            call=lambda kernel, *inputs: both(*kernel(*inputs)),
        )


def both(scores: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The scores, and those that were chosen: equal ones may be chosen in any order."""
    return torch.cat([scores, scores.gather(1, indices.long())], -1)


if __name__ == "__main__":
    main()
