"""Mean and variance of every column, as batch norm needs them."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"M": 130, "N": 100}, {"M": 5, "N": 64})
LARGE = {"M": 12800, "N": 4096}
TOLERANCE = 1e-4


@T.jit(out_idx=[-2, -1])
def kernel(M, N, rows=128, columns=64):
    @T.prim_func
    def column_moments(
        X: T.Tensor((M, N), "float32"),
        mean: T.Tensor((N,), "float32"),
        variance: T.Tensor((N,), "float32"),
    ):
        with T.Kernel(T.cdiv(N, columns), threads=2, is_npu=True) as cid:
            x = T.alloc_shared((rows, columns), "float32")
            square = T.alloc_shared((rows, columns), "float32")
            here = T.alloc_shared((columns,), "float32")
            total = T.alloc_shared((columns,), "float32")
            squares = T.alloc_shared((columns,), "float32")
            T.tile.fill(total, 0.0)
            T.tile.fill(squares, 0.0)
            for n in T.serial(T.cdiv(M, rows)):
                T.copy(X[n * rows, cid * columns], x)
                T.reduce_sum(x, here, dim=0)
                for j in T.Parallel(columns):
                    total[j] = total[j] + here[j]
                for i, j in T.Parallel(rows, columns):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, here, dim=0)
                for j in T.Parallel(columns):
                    squares[j] = squares[j] + here[j]
            for j in T.Parallel(columns):
                total[j] = total[j] / M
                squares[j] = squares[j] / M - total[j] * total[j]
            T.copy(total, mean[cid * columns])
            T.copy(squares, variance[cid * columns])

    return column_moments


def inputs(M, N):
    return [torch.randn(M, N)]


def expected(x):
    return [x.mean(0), x.var(0, unbiased=False)]
