"""The kernels of norms and of their gradients. A tile is some whole rows."""

from __future__ import annotations

import tile_frontend as T

from .rows import (
    add_product,
    center,
    inverse_root,
    load_rows,
    load_vector,
    mean_of_products,
    store_rows,
    turns,
)
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
            out = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            scale = T.alloc_shared((rows,), accum)
            load_vector(W, raw_weight, weight, width)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                load_rows(X, row, raw, x)
                inverse_root(x, square, scale, N, eps, rows, width)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j]
                store_rows(x, out, Y, row)

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
            load_vector(W, raw_weight, weight, width)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                load_rows(X, row, raw, x)
                load_rows(R, row, raw_other, square)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] + square[i, j]
                # The sum is rounded before it is normed, as the next layer sees it.
                store_rows(x, raw_other, total, row)
                T.copy(raw_other, x)
                inverse_root(x, square, scale, N, eps, rows, width)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j]
                store_rows(x, raw, Y, row)

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
            raw_grad = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((width,), dtype)
            g = T.alloc_shared((rows, width), accum)
            x = T.alloc_shared((rows, width), accum)
            product = T.alloc_shared((rows, width), accum)
            of_weight = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            scale = T.alloc_shared((rows,), accum)
            slope = T.alloc_shared((rows,), accum)
            load_vector(W, raw_weight, weight, width)
            T.tile.fill(of_weight, 0.0)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                load_rows(X, row, raw, x)
                load_rows(G, row, raw_grad, g)
                inverse_root(x, product, scale, N, eps, rows, width)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i]
                add_product(of_weight, g, x, rows, width)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = g[i, j] * weight[j]
                mean_of_products(g, x, product, slope, N, rows, width)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = (g[i, j] - x[i, j] * slope[i]) * scale[i]
                store_rows(g, raw, DX, row)
            T.copy(of_weight, DW[cid * rows, 0])

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
            out = T.alloc_shared((rows, width), dtype)
            raw_row = T.alloc_shared((width,), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((width,), accum)
            bias = T.alloc_shared((width,), accum)
            mean = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            load_vector(W, raw_row, weight, width)
            load_vector(B, raw_row, bias, width)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                load_rows(X, row, raw, x)
                center(x, mean, N, rows, width)
                inverse_root(x, square, scale, N, eps, rows, width)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[j] + bias[j]
                store_rows(x, out, Y, row)

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
            raw_grad = T.alloc_shared((rows, width), dtype)
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
            load_vector(W, raw_weight, weight, width)
            T.tile.fill(of_weight, 0.0)
            T.tile.fill(of_bias, 0.0)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                load_rows(X, row, raw, x)
                load_rows(G, row, raw_grad, g)
                center(x, mean, N, rows, width)
                inverse_root(x, product, scale, N, eps, rows, width)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i]
                for i, j in T.Parallel(rows, width):
                    of_bias[i, j] = of_bias[i, j] + g[i, j]
                add_product(of_weight, g, x, rows, width)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = g[i, j] * weight[j]
                mean_of_products(g, x, product, slope, N, rows, width)
                center(g, mean, N, rows, width)
                for i, j in T.Parallel(rows, width):
                    g[i, j] = (g[i, j] - x[i, j] * slope[i]) * scale[i]
                store_rows(g, raw, DX, row)
            T.copy(of_weight, DW[cid * rows, 0])
            T.copy(of_bias, DB[cid * rows, 0])

    return kernel
