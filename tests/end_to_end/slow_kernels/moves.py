"""Slow kernels that move data: permuted rows, transposes, windows, pairs."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def embed(V=4096, N=2048, D=512, rows=1):
    """A row of a table for each block."""

    @T.prim_func
    def kernel(W: T.Tensor((V, D), "float16"), order: T.Tensor((N,), "int32"), Y: T.Tensor((N, D), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, rows), threads=2) as cid:
            at, y = T.alloc_shared((rows,), "int32"), T.alloc_shared((rows, D), "float16")
            T.copy(order[cid * rows], at)
            for i in T.serial(rows):
                T.copy(W[at[i], 0], y[i, :])
            T.copy(y, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def weighted_rows(N=2048, D=1024, rows=4):
    """Rows in another order, each times a weight."""

    @T.prim_func
    def kernel(X: T.Tensor((N, D), "float16"), order: T.Tensor((N,), "int32"), W: T.Tensor((N,), "float32"), Y: T.Tensor((N, D), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, rows), threads=2) as cid:
            at, w = T.alloc_shared((rows,), "int32"), T.alloc_shared((rows,), "float32")
            x, y = T.alloc_shared((rows, D), "float16"), T.alloc_shared((rows, D), "float32")
            T.copy(order[cid * rows], at)
            T.copy(W[cid * rows], w)
            for i in T.serial(rows):
                T.copy(X[at[i], 0], x[i, :])
            for i, j in T.Parallel(rows, D):
                y[i, j] = T.cast(x[i, j], "float32") * w[i]
            T.copy(y, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def transpose(M=1024, N=1024, block=32):
    """Small square tiles."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), Y: T.Tensor((N, M), "float16")):
        with T.Kernel(T.cdiv(N, block), T.cdiv(M, block)) as (bx, by):
            x, y = T.alloc_shared((block, block), "float16"), T.alloc_shared((block, block), "float16")  # fmt: skip
            T.copy(X[by * block, bx * block], x)
            for i, j in T.Parallel(block, block):
                y[i, j] = x[j, i]
            T.copy(y, Y[bx * block, by * block])

    return kernel


@T.jit(out_idx=[-1])
def rope(N=2048, D=128, rows=4):
    """Halves of short rows, a few at a time."""
    half = D // 2

    @T.prim_func
    def kernel(X: T.Tensor((N, D), "float32"), C: T.Tensor((N, half), "float32"), S: T.Tensor((N, half), "float32"), Y: T.Tensor((N, D), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(N, rows), threads=2) as cid:
            x, y = T.alloc_shared((rows, D), "float32"), T.alloc_shared((rows, D), "float32")
            c, s = T.alloc_shared((rows, half), "float32"), T.alloc_shared((rows, half), "float32")
            T.copy(X[cid * rows, 0], x)
            T.copy(C[cid * rows, 0], c)
            T.copy(S[cid * rows, 0], s)
            for i, j in T.Parallel(rows, half):
                y[i, j] = x[i, j] * c[i, j] - x[i, j + half] * s[i, j]
                y[i, j + half] = x[i, j + half] * c[i, j] + x[i, j] * s[i, j]
            T.copy(y, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def window_mean(C=768, L=2048, rows=2, block=64):
    """Means of four neighbours along rows, in short pieces."""

    @T.prim_func
    def kernel(X: T.Tensor((C, L + 3), "float32"), Y: T.Tensor((C, L), "float32")):
        with T.Kernel(T.cdiv(L, block), T.cdiv(C, rows)) as (bx, by):
            x, y = T.alloc_shared((rows, block + 8), "float32"), T.alloc_shared((rows, block), "float32")  # fmt: skip
            T.copy(X[by * rows, bx * block], x)
            for i, j in T.Parallel(rows, block):
                y[i, j] = (x[i, j] + x[i, j + 1] + x[i, j + 2] + x[i, j + 3]) * 0.25
            T.copy(y, Y[by * rows, bx * block])

    return kernel
