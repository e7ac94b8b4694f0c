"""Slow kernels that work on elements: small tiles, one vector core, chains without overlap."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def gelu(n=1 << 21, block=256):
    """Short pieces of a vector."""

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float16"), B: T.Tensor((n,), "float16")):
        with T.Kernel(T.cdiv(n, block), threads=2) as cid:
            a, x = T.alloc_shared((block,), "float16"), T.alloc_shared((block,), "float32")
            T.copy(A[cid * block], a)
            T.copy(a, x)
            for i in T.Parallel(block):
                x[i] = x[i] / (1.0 + T.exp(-1.702 * x[i]))
            T.copy(x, a)
            T.copy(a, B[cid * block])

    return kernel


@T.jit(out_idx=[-1])
def swiglu(M=1024, N=2048, rows=2, block=128):
    """Narrow tiles."""

    @T.prim_func
    def kernel(G: T.Tensor((M, N), "float16"), U: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block), T.cdiv(M, rows)) as (bx, by):
            g, u = (
                T.alloc_shared((rows, block), "float16"),
                T.alloc_shared((rows, block), "float16"),
            )
            y = T.alloc_shared((rows, block), "float32")
            T.copy(G[by * rows, bx * block], g)
            T.copy(U[by * rows, bx * block], u)
            for i, j in T.Parallel(rows, block):
                x = T.cast(g[i, j], "float32")
                y[i, j] = x / (1.0 + T.exp(-x)) * T.cast(u[i, j], "float32")
            T.copy(y, Y[by * rows, bx * block])

    return kernel


@T.jit(out_idx=[-1])
def bias_relu(M=2048, N=1024):
    """Sizes written down, short rows."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), B: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(N, 64), T.cdiv(M, 32)) as (bx, by):
            x, b = T.alloc_shared((32, 64), "float32"), T.alloc_shared((64,), "float32")
            T.copy(X[by * 32, bx * 64], x)
            T.copy(B[bx * 64], b)
            for i, j in T.Parallel(32, 64):
                x[i, j] = T.max(x[i, j] + b[j], 0.0)
            T.copy(x, Y[by * 32, bx * 64])

    return kernel


@T.jit(out_idx=[-1])
def tanh_chain(M=1536, N=1024, rows=4, cores=24):
    """A loop of the author's over tiles, on one vector core of each block."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(cores, threads=1) as cid:
            x = T.alloc_shared((rows, N), "float32")
            for t in T.serial(T.ceildiv(T.cdiv(M, rows) - cid, cores)):
                T.copy(X[(cid + t * cores) * rows, 0], x)
                for i, j in T.Parallel(rows, N):
                    x[i, j] = 1.0 - 2.0 / (T.exp(2.0 * x[i, j]) + 1.0)
                T.copy(x, Y[(cid + t * cores) * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def cast_copy(n=1 << 22, block=1 << 19):
    """Few blocks, each with a loop over small pieces."""
    piece = 512

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float16")):
        with T.Kernel(T.cdiv(n, block), threads=2) as cid:
            a, b = T.alloc_shared((piece,), "float32"), T.alloc_shared((piece,), "float16")
            for k in T.serial(block // piece):
                T.copy(A[cid * block + k * piece], a)
                T.copy(a, b)
                T.copy(b, B[cid * block + k * piece])

    return kernel
