"""Slow kernels of windows: convolutions and pooling, channels last and first."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def causal_conv(L=8192, C=512, rows=16, columns=64):
    """Four taps along time, a tap at a time, then silu."""

    @T.prim_func
    def kernel(X: T.Tensor((L + 3, C), "float16"), W: T.Tensor((4, C), "float16"), Y: T.Tensor((L, C), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(C, columns), T.cdiv(L, rows), threads=2) as (bx, by):
            x, w = T.alloc_shared((rows + 3, columns), "float16"), T.alloc_shared((4, columns), "float16")  # fmt: skip
            s, y = T.alloc_shared((rows, columns), "float32"), T.alloc_shared((rows, columns), "float16")  # fmt: skip
            T.copy(X[by * rows, bx * columns], x)
            T.copy(W[0, bx * columns], w)
            T.fill(s, 0.0)
            for t in T.serial(4):
                for i, j in T.Parallel(rows, columns):
                    s[i, j] = s[i, j] + T.cast(x[i + t, j], "float32") * T.cast(w[t, j], "float32")
            for i, j in T.Parallel(rows, columns):
                y[i, j] = s[i, j] / (1.0 + T.exp(-s[i, j]))
            T.copy(y, Y[by * rows, bx * columns])

    return kernel


@T.jit(out_idx=[-1])
def average_pool(P=64, H=112, W=128, rows=2):
    """Means of two by two, a few rows at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((P, H, W), "float16"), Y: T.Tensor((P, H // 2, W // 2), "float16")):
        with T.Kernel(T.cdiv(H // 2, rows), P, threads=2) as (bx, p):
            x, y = T.alloc_shared((2 * rows, W), "float16"), T.alloc_shared((rows, W // 2), "float16")  # fmt: skip
            T.copy(X[p, bx * 2 * rows, 0], x)
            for i, j in T.Parallel(rows, W // 2):
                y[i, j] = (x[2 * i, 2 * j] + x[2 * i, 2 * j + 1] + x[2 * i + 1, 2 * j] + x[2 * i + 1, 2 * j + 1]) * 0.25  # fmt: skip
            T.copy(y, Y[p, bx * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def chunk_sums(B=4, S=2048, H=128, chunk=64):
    """Running sums inside chunks of time, a row at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((B, S, H), "float32"), Y: T.Tensor((B, S, H), "float32")):
        with T.Kernel(S // chunk, B, threads=1) as (c, b):
            x, s = T.alloc_shared((chunk, H), "float32"), T.alloc_shared((H,), "float32")
            T.copy(X[b, c * chunk, 0], x)
            T.fill(s, 0.0)
            for t in T.serial(chunk):
                for j in T.Parallel(H):
                    s[j] = s[j] + x[t, j]
                    x[t, j] = s[j]
            T.copy(x, Y[b, c * chunk, 0])

    return kernel


@T.jit(out_idx=[-1])
def histogram(N=1 << 20, E=16, block=1024):
    """How many of each of 16 kinds, for each piece: all kinds against all elements."""

    @T.prim_func
    def kernel(kind: T.Tensor((N,), "int32"), Y: T.Tensor((N // block, E), "float32")):
        with T.Kernel(N // block, threads=2) as cid:
            x, hit = T.alloc_shared((block,), "int32"), T.alloc_shared((E, block), "float32")
            n = T.alloc_shared((E,), "float32")
            T.copy(kind[cid * block], x)
            for e, j in T.Parallel(E, block):
                hit[e, j] = T.if_then_else(x[j] == e, 1.0, 0.0)
            T.reduce_sum(hit, n, dim=1)
            T.copy(n, Y[cid, 0])

    return kernel
