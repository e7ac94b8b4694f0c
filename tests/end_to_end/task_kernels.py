"""Small kernels that tests make tasks of."""

from __future__ import annotations

import tile_frontend as T

F32, F16 = "float32", "float16"


def scaled(rows: int, width: int, factor: float, tile: int = 8) -> T.PrimFunc:
    """Y = X * factor + 1, a block for each tile of rows."""

    @T.prim_func
    def scale(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(T.ceildiv(rows, tile), threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[cid * tile, 0], a)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] * factor + 1.0
            T.copy(a, Y[cid * tile, 0])

    return scale


def added(rows: int, width: int, tile: int = 8) -> T.PrimFunc:
    """Y = X + H."""

    @T.prim_func
    def add(
        X: T.Tensor((rows, width), F32),
        H: T.Tensor((rows, width), F32),
        Y: T.Tensor((rows, width), F32),
    ):
        with T.Kernel(T.ceildiv(rows, tile), threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            b = T.alloc_shared((tile, width), F32)
            T.copy(X[cid * tile, 0], a)
            T.copy(H[cid * tile, 0], b)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] + b[i, j]
            T.copy(a, Y[cid * tile, 0])

    return add


def reversed_rows(rows: int, width: int, tile: int = 8) -> T.PrimFunc:
    """Tiles of rows in the reversed order: what a block writes another one reads."""

    @T.prim_func
    def reverse(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(rows // tile, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[(rows // tile - 1 - cid) * tile, 0], a)
            T.copy(a, Y[cid * tile, 0])

    return reverse


def normed(rows: int, width: int, tile: int = 8) -> T.PrimFunc:
    """Rows divided by their root mean square, float16."""

    @T.prim_func
    def norm(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F16)):
        with T.Kernel(rows // tile, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            square = T.alloc_shared((tile, width), F32)
            total = T.alloc_shared((tile,), F32)
            y = T.alloc_shared((tile, width), F16)
            T.copy(X[cid * tile, 0], a)
            for i, j in T.Parallel(tile, width):
                square[i, j] = a[i, j] * a[i, j]
            T.reduce_sum(square, total, dim=-1)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] / T.sqrt(total[i] * (1.0 / width) + 1e-6)
            T.copy(a, y)
            T.copy(y, Y[cid * tile, 0])

    return norm


def product(M: int, N: int, K: int, tile: int = 32) -> T.PrimFunc:
    """Y = X @ W in float32, on cube cores alone."""

    @T.prim_func
    def gemm(X: T.Tensor((M, K), F16), W: T.Tensor((K, N), F16), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // tile * (N // tile), threads=2, is_npu=True) as cid:
            row, column = cid // (N // tile) * tile, cid % (N // tile) * tile
            x = T.alloc_shared((tile, K), F16)
            w = T.alloc_shared((K, tile), F16)
            y = T.alloc_fragment((tile, tile), F32)
            T.copy(X[row, 0], x)
            T.copy(W[0, column], w)
            T.gemm_v0(x, w, y, init=True)
            T.copy(y, Y[row, column])

    return gemm


def activated_product(M: int, N: int, K: int, tile: int = 32) -> T.PrimFunc:
    """Y = max(X @ W, 0), on both kinds of core."""

    @T.prim_func
    def gemm_relu(X: T.Tensor((M, K), F16), W: T.Tensor((K, N), F16), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // tile * (N // tile), threads=2, is_npu=True) as cid:
            row, column = cid // (N // tile) * tile, cid % (N // tile) * tile
            x = T.alloc_shared((tile, K), F16)
            w = T.alloc_shared((K, tile), F16)
            y = T.alloc_fragment((tile, tile), F32)
            c = T.alloc_shared((tile, tile), F32)
            T.copy(X[row, 0], x)
            T.copy(W[0, column], w)
            T.gemm_v0(x, w, y, init=True)
            T.copy(y, c)
            for i, j in T.Parallel(tile, tile):
                c[i, j] = T.max(c[i, j], 0.0)
            T.copy(c, Y[row, column])

    return gemm_relu


def with_barrier() -> T.PrimFunc:
    """All blocks wait for each other."""

    @T.prim_func
    def meet(X: T.Tensor((2, 64), F32), Y: T.Tensor((2, 64), F32)):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            a = T.alloc_ub((32,), F32)
            with T.Scope("V"):
                T.copy(X[cid, vid * 32], a)
                T.sync_all()
                T.copy(a, Y[cid, vid * 32])

    return meet


def signalling(answers: int, between: int) -> T.PrimFunc:
    """Y = X; vector cores signal the cube core `between` times for each answer."""

    @T.prim_func
    def signal(X: T.Tensor((2, 64), F32), Y: T.Tensor((2, 64), F32)):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            a = T.alloc_ub((32,), F32)
            with T.Scope("V"):
                T.copy(X[cid, vid * 32], a)
                T.set_flag("mte2", "mte3", 0)
                T.wait_flag("mte2", "mte3", 0)
                for _ in T.serial(answers):
                    for _ in T.serial(between):
                        T.set_cross_flag("MTE3", 0)
                    T.wait_cross_flag(1)
                T.copy(a, Y[cid, vid * 32])
            with T.Scope("C"):
                for _ in T.serial(answers):
                    for _ in T.serial(between):
                        T.wait_cross_flag(0)
                    T.set_cross_flag("FIX", 1)

    return signal


def shifted(width: int, tile: int = 4) -> T.PrimFunc:
    """Y = X + by, for any number of rows."""
    rows = T.symbolic("rows")

    @T.prim_func
    def shift(X: T.Tensor((rows, width), F32), by: T.int32, Y: T.Tensor((rows, width), F32)):
        with T.Kernel(T.ceildiv(rows, tile), threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[cid * tile, 0], a)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] + T.cast(by, F32)
            T.copy(a, Y[cid * tile, 0])

    return shift
