"""Scalar work, loops of every kind, a symbolic dimension, and a factory under `jit`."""

from typing import Any

import torch

import tile_frontend as T
from tile_runtime import PassConfigKey

M = T.symbolic("M")


@T.jit(out_idx=[-1], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def scaled(width: int, dtype: str = "float32") -> Any:
    @T.prim_func
    def scaled_rows(
        X: T.Tensor((M, width), dtype),
        rounds: T.int32,
        Y: T.Tensor((M, width), dtype),
    ):
        with T.Kernel(M, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((2, width), dtype)
            y = T.alloc_ub((2, width), dtype)
            total = T.alloc_var("float32", init=0.0)
            left = T.alloc_var("int32", init=rounds)
            with T.Scope("V"):
                T.copy(X[cid, :], x[0, :])
                T.copy(X[cid, :], x[1, :])
                for i, j in T.Parallel(2, width):
                    y[i, j] = x[i, j] * 2.0 + 1.0
                while left > 0:
                    total += y[0, 0]
                    left -= 1
                for n in T.unroll(3):
                    offset = T.if_then_else(n > 1, n, 0)
                    total = total + T.cast(offset, "float32")
                for p in T.Pipelined(2, num_stages=2):
                    if p == 1 and rounds > 0:
                        T.tile.add(y, y, total)
                T.copy(y[1, :], Y[cid, :])

    return scaled_rows


def build() -> Any:
    return scaled(32)


def call(kernel: Any) -> tuple[Any, Any]:
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    y = x * 2 + 1
    return kernel(x, 2), y + (2 * y[:, :1] + 2)
