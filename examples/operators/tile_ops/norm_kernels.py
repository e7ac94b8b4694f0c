"""The kernels of norms and of their gradients. A tile is some whole rows."""

from __future__ import annotations

import tile_frontend as T

from .tiles import CORES, padded

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def rms_norm(N: int, eps: float, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            scale = T.alloc_shared((rows,), accum)
            T.copy(W[0:width], raw_weight)
            T.copy(raw_weight, weight)
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, rows) - cid, CORES), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                for i, j in T.Parallel(rows, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j]
                T.copy(x, raw)
                T.copy(raw, Y[row, 0])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def add_rms_norm(N: int, eps: float, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        R: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
        total: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_other = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            scale = T.alloc_shared((rows,), accum)
            T.copy(W[0:width], raw_weight)
            T.copy(raw_weight, weight)
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, rows) - cid, CORES), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(R[row, 0], raw_other)
                T.copy(raw, x)
                T.copy(raw_other, square)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] + square[i, j]
                # The sum is rounded before it is normed, as the next layer sees it.
                T.copy(x, raw_other)
                T.copy(raw_other, x)
                T.copy(raw_other, total[row, 0])
                for i, j in T.Parallel(rows, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j]
                T.copy(x, raw)
                T.copy(raw, Y[row, 0])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def rms_norm_gradients(N: int, eps: float, dtype: str, rows: int) -> T.PrimFunc:
    """The gradient of X, and sums of that of W, one for each row of a tile."""
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        G: T.Tensor((M, N), dtype),
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        DX: T.Tensor((M, N), dtype),
        DW: T.Tensor((CORES * rows, N), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            g = T.alloc_shared((rows, width), accum)
            x = T.alloc_shared((rows, width), accum)
            product = T.alloc_shared((rows, width), accum)
            sums = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            scale = T.alloc_shared((rows,), accum)
            slope = T.alloc_shared((rows,), accum)
            T.copy(W[0:width], raw_weight)
            T.copy(raw_weight, weight)
            T.tile.fill(sums, 0.0)
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, rows) - cid, CORES), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(G[row, 0], raw)
                T.copy(raw, g)
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                for i, j in T.Parallel(rows, width):
                    product[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(product, scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i]
                for i, j in T.Parallel(rows, width):
                    product[i, j] = g[i, j] * x[i, j]
                for i, j in T.Parallel(rows, width):
                    sums[i, j] = sums[i, j] + product[i, j]
                for i, j in T.Parallel(rows, width):
                    product[i, j] = product[i, j] * weight[j]
                T.reduce_sum(product, slope, dim=-1)
                for i in T.Parallel(rows):
                    slope[i] = slope[i] * (1.0 / N)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = (g[i, j] * weight[j] - x[i, j] * slope[i]) * scale[i]
                T.copy(g, raw)
                T.copy(raw, DX[row, 0])
            T.copy(sums, DW[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def layer_norm(N: int, eps: float, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        B: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_row = T.alloc_shared((width,), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            bias = T.alloc_shared((width,), accum)
            mean = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            T.copy(W[0:width], raw_row)
            T.copy(raw_row, weight)
            T.copy(B[0:width], raw_row)
            T.copy(raw_row, bias)
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, rows) - cid, CORES), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                T.reduce_sum(x, mean, dim=-1)
                for i in T.Parallel(rows):
                    mean[i] = mean[i] * (1.0 / N)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] - mean[i]
                for i, j in T.Parallel(rows, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square[:, 0:N], scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j] + bias[j]
                T.copy(x, raw)
                T.copy(raw, Y[row, 0])

    return kernel


@T.jit(out_idx=[-3, -2, -1], pass_configs=AUTOMATIC)
def layer_norm_gradients(N: int, eps: float, dtype: str, rows: int) -> T.PrimFunc:
    """The gradient of X, and sums of those of W and B, one for each row of a tile."""
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        G: T.Tensor((M, N), dtype),
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        DX: T.Tensor((M, N), dtype),
        DW: T.Tensor((CORES * rows, N), accum),
        DB: T.Tensor((CORES * rows, N), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            g = T.alloc_shared((rows, width), accum)
            x = T.alloc_shared((rows, width), accum)
            product = T.alloc_shared((rows, width), accum)
            of_weight = T.alloc_shared((rows, width), accum)
            of_bias = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            mean = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            slope = T.alloc_shared((rows,), accum)
            T.copy(W[0:width], raw_weight)
            T.copy(raw_weight, weight)
            T.tile.fill(of_weight, 0.0)
            T.tile.fill(of_bias, 0.0)
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, rows) - cid, CORES), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                T.copy(G[row, 0], raw)
                T.copy(raw, g)
                T.reduce_sum(x, mean, dim=-1)
                for i in T.Parallel(rows):
                    mean[i] = mean[i] * (1.0 / N)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] - mean[i]
                for i, j in T.Parallel(rows, width):
                    product[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(product[:, 0:N], scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i]
                for i, j in T.Parallel(rows, width):
                    of_bias[i, j] = of_bias[i, j] + g[i, j]
                for i, j in T.Parallel(rows, width):
                    of_weight[i, j] = of_weight[i, j] + g[i, j] * x[i, j]
                for i, j in T.Parallel(rows, width):
                    g[i, j] = g[i, j] * weight[j]
                T.reduce_sum(g, mean, dim=-1)
                for i, j in T.Parallel(rows, width):
                    product[i, j] = g[i, j] * x[i, j]
                T.reduce_sum(product, slope, dim=-1)
                for i in T.Parallel(rows):
                    slope[i] = slope[i] * (1.0 / N)
                    mean[i] = mean[i] * (1.0 / N)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = (g[i, j] - mean[i] - x[i, j] * slope[i]) * scale[i]
                T.copy(g, raw)
                T.copy(raw, DX[row, 0])
            T.copy(of_weight, DW[cid * rows, 0])
            T.copy(of_bias, DB[cid * rows, 0])

    return kernel
