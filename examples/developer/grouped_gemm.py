"""Grouped gemm of a mixture of experts, in developer style: tokens stand sorted by expert, and each
expert multiplies its own with its own weights.

How many tokens an expert has is known only when the kernel runs. There is a block for every tile
that there can be; each finds its expert and its rows by counting tiles, and the last tile of
an expert is cut where the next expert begins.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def grouped_gemm(
    tokens: int, experts: int, N: int, K: int, block_M: int, block_N: int, block_K: int,
    dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    row_tiles = T.ceildiv(tokens, block_M) + experts - 1  # every expert may have a last tile
    column_tiles = T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        X: T.Tensor((tokens, K), dtype),
        W: T.Tensor((experts, K, N), dtype),
        sizes: T.Tensor((experts,), "int32"),
        Y: T.Tensor((tokens, N), dtype),
    ) -> None:
        with T.Kernel(row_tiles * column_tiles, threads=2, is_npu=True) as cid:
            column = cid % column_tiles * block_N
            x = T.alloc_shared((block_M, block_K), dtype)
            w = T.alloc_shared((block_K, block_N), dtype)
            y = T.alloc_fragment((block_M, block_N), accum)
            tile = T.alloc_var("int32", init=cid // column_tiles)  # counted from the expert's first
            expert = T.alloc_var("int32", init=-1)
            first = T.alloc_var("int32", init=0)
            rows = T.alloc_var("int32", init=0)
            start = T.alloc_var("int32", init=0)
            for e in T.serial(experts):
                if tile >= 0 and tile < T.ceildiv(sizes[e], block_M):
                    expert = e
                    first = start + tile * block_M
                    rows = T.min(sizes[e] - tile * block_M, block_M)
                tile = tile - T.ceildiv(sizes[e], block_M)
                start = start + sizes[e]
            if expert >= 0:
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                    T.copy(X[first : first + rows, k * block_K : (k + 1) * block_K], x)
                    T.copy(W[expert, k * block_K : (k + 1) * block_K, column : column + block_N], w)
                    T.gemm_v0(x, w, y, init=(k == 0))
                T.copy(y[0:rows, :], Y[first : first + rows, column : column + block_N])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for sizes, N, K in (((100, 0, 256, 1, 155), 512, 256), ((17, 3), 128, 128)):
        tokens, experts = sum(sizes), len(sizes)
        x, w = torch.randn(tokens, K).half(), torch.randn(experts, K, N).half()
        parts = torch.split(x.float(), list(sizes))
        run_and_report(
            f"grouped gemm {tokens}x{N}x{K}, {experts} experts float16",
            lambda tokens=tokens, experts=experts, N=N, K=K: grouped_gemm(
                tokens, experts, N, K, 128, 128, 64
            ),
            [x, w, torch.tensor(sizes, dtype=torch.int32)],
            torch.cat([a @ b for a, b in zip(parts, w.float(), strict=True)]),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
