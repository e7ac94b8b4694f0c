"""Rows on the vector cores; memories and order are left to the compiler."""

from typing import Any

import torch

import tile_frontend as T
from tile_runtime import PassConfigKey

ROWS, N = 8, 64


def build() -> Any:
    @T.prim_func
    def shifted_rows(
        X: T.Tensor((ROWS, N), "float32"),
        Y: T.Tensor((ROWS, N), "float32"),
    ):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_shared((ROWS, N), "float32")
            y = T.alloc_shared((ROWS, N), "float32")
            total = T.alloc_fragment((ROWS,), "float32")
            bits = T.alloc_shared((ROWS, N), "int32")
            T.reinterpretcast(bits, y, "int32")
            T.copy(X, x)
            T.reduce_sum(x, total, dim=-1)
            for i, j in T.Parallel(ROWS, N):
                y[i, j] = x[i, j] + total[i]
            if total[0] > 0.0:
                T.tile.fill(bits, 0)
            T.copy(y, Y)

    return T.compile(
        shifted_rows, out_idx=[1], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    )


def call(kernel: Any) -> tuple[Any, Any]:
    x = torch.randn(ROWS, N, generator=torch.Generator().manual_seed(0))
    x[0] -= 10.0
    return kernel(x), x + x.sum(-1, keepdim=True)
