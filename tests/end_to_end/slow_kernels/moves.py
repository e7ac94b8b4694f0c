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
