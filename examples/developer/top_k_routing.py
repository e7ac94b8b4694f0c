"""Routing of a mixture of experts in developer style: the product of tokens with the router, a
softmax over experts, and the best K experts of each token with weights that sum to one.

All cores load the whole router, once for each tile of tokens. If it is `packed`, it lies in
fractals of 16 x 16, as weights of format 29 do, so that loads of it are long runs. Each core begins
with other columns of tokens, so that one finds in L2 what its neighbour has brought there, and no
line is asked for by all of them at a time.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

# Columns of a fractal.
C0 = 16

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[2, 3], pass_configs=CONFIGS)
def route(
    tokens: int, D: int, experts: int, K: int, rows: int, block_K: int, dtype: str = "float16",
    accum: str = "float32", packed: bool = True,
) -> T.PrimFunc:  # fmt: skip
    assert experts % C0 == 0 and D % 16 == 0, "the router consists of whole fractals"
    router_shape = (experts // C0, D // 16, 16, C0) if packed else (D, experts)
    width = T.cdiv(K, 8) * 8  # rows start at multiples of 32 bytes

    @T.prim_func
    def kernel(
        X: T.Tensor((tokens, D), dtype),
        router: T.Tensor(router_shape, dtype),
        weight: T.Tensor((tokens, K), accum),
        chosen: T.Tensor((tokens, K), "int32"),
    ) -> None:
        with T.Kernel(T.cdiv(tokens, rows), threads=2, is_npu=True) as cid:
            x = T.alloc_shared((rows, block_K), dtype)
            w = T.alloc_shared((block_K, experts), dtype)
            logits = T.alloc_fragment((rows, experts), accum)
            score = T.alloc_shared((rows, experts), accum)
            pairs = T.alloc_shared((rows, 2 * width), accum)
            value = T.alloc_shared((rows, width), accum)
            place = T.alloc_shared((rows, width), accum)
            index = T.alloc_shared((rows, width), "int32")
            peak = T.alloc_shared((rows,), accum)
            total = T.alloc_shared((rows,), accum)
            for k in T.Pipelined(D // block_K, num_stages=2):
                at = (k + cid) % (D // block_K) * block_K
                T.copy(X[cid * rows, at], x)
                if packed:
                    T.copy(router[0, at // 16, 0, 0], w, nz=True)
                else:
                    T.copy(router[at, 0], w)
                T.gemm_v0(x, w, logits, init=(k == 0))
            T.copy(logits, score)
            for i in T.serial(rows):
                T.tile.topk(pairs[i, :], score[i, :], width, experts)
                T.tile.gather_mask(value[i, :], pairs[i, :], "P0101")
                T.tile.gather_mask(place[i, :], pairs[i, :], "P1010")
            # A softmax over the chosen: what the others would add to it falls out again.
            T.reduce_max(value, peak, dim=-1)
            for i, j in T.Parallel(rows, width):
                value[i, j] = T.if_then_else(j < K, T.exp(value[i, j] - peak[i]), 0.0)
            T.reduce_sum(value, total, dim=-1)
            for i, j in T.Parallel(rows, width):
                value[i, j] = value[i, j] / total[i]
            T.copy(place, index)
            T.copy(value, weight[cid * rows, 0])
            T.copy(index, chosen[cid * rows, 0])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for tokens, D, experts, K in ((256, 512, 64, 8), (77, 128, 160, 6)):
        x, router = torch.randn(tokens, D).half(), torch.randn(D, experts).half() / D**0.5
        scores = torch.softmax(x.float() @ router.float(), -1)
        weight = scores.topk(K).values

        run_and_report(
            f"routing of {tokens} tokens to {K} of {experts} experts float16",
            lambda tokens=tokens, D=D, experts=experts, K=K: route(tokens, D, experts, K, 32, 128),
            [x, in_fractals(router)],
            torch.cat([weight / weight.sum(-1, keepdim=True), weight], -1),
            tolerance=1e-5,
            call=lambda kernel, *inputs, scores=scores: both(scores, *kernel(*inputs)),
        )


def in_fractals(matrix: torch.Tensor) -> torch.Tensor:
    """A matrix [rows, columns] as [columns / C0, rows / 16, 16, C0]."""
    rows, columns = matrix.shape
    return matrix.reshape(rows // 16, 16, columns // C0, C0).permute(2, 0, 1, 3).contiguous()


def both(scores: torch.Tensor, weight: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """The weights, and the scores of the chosen: equal ones may come in any order."""
    return torch.cat([weight, scores.gather(1, chosen.long())], -1)


if __name__ == "__main__":
    main()
