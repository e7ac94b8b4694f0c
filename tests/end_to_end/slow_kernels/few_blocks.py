"""Slow kernels of few blocks: one for each image or sequence, and long loops in each."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def mean_pool(B=4, S=2048, D=1024, columns=1024, rows=16):
    """A block for each sequence: four on a chip of 24 cores."""

    @T.prim_func
    def kernel(X: T.Tensor((B, S, D), "float16"), Y: T.Tensor((B, D), "float32")):
        with T.Kernel(T.cdiv(D, columns), B, threads=2) as (bx, b):
            x, s = T.alloc_shared((rows, columns), "float32"), T.alloc_shared((columns,), "float32")
            part = T.alloc_shared((columns,), "float32")
            T.fill(s, 0.0)
            for t in T.serial(T.cdiv(S, rows)):
                T.copy(X[b, t * rows, bx * columns], x)
                T.reduce_sum(x, part, dim=0)
                for j in T.Parallel(columns):
                    s[j] = s[j] + part[j]
            for j in T.Parallel(columns):
                s[j] = s[j] / S
            T.copy(s, Y[b, bx * columns])

    return kernel


@T.jit(out_idx=[-1])
def scan(B=4, S=512, D=1024, columns=512):
    """A recurrence along time, a step at a time."""

    @T.prim_func
    def kernel(A: T.Tensor((B, S, D), "float32"), X: T.Tensor((B, S, D), "float32"), H: T.Tensor((B, S, D), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(D, columns), B, threads=2) as (bx, b):
            a, x = T.alloc_shared((columns,), "float32"), T.alloc_shared((columns,), "float32")
            h = T.alloc_shared((columns,), "float32")
            T.fill(h, 0.0)
            for t in T.serial(S):
                T.copy(A[b, t, bx * columns], a)
                T.copy(X[b, t, bx * columns], x)
                for j in T.Parallel(columns):
                    h[j] = a[j] * h[j] + x[j]
                T.copy(h, H[b, t, bx * columns])

    return kernel


@T.jit(out_idx=[-1])
def narrow_product(M=64, N=1024, K=4096, block_N=256, block_K=128):
    """Few rows against a long k: four blocks."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block_N)) as bx:
            a, b = T.alloc_shared((M, block_K), "float16"), T.alloc_shared((block_K, block_N), "float16")  # fmt: skip
            c = T.alloc_fragment((M, block_N), "float32")
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=2):
                T.copy(A[0, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[0, bx * block_N])

    return kernel


@T.jit(out_idx=[-1])
def group_norm(B=4, G=8, C=32, L=1024, channels=4):
    """A block for each group of channels of an image, a few channels at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((B, G, C, L), "float16"), Y: T.Tensor((B, G, C, L), "float16")):
        with T.Kernel(G, B, threads=1) as (g, b):
            x = T.alloc_shared((channels, L), "float32")
            q, part = T.alloc_shared((channels, L), "float32"), T.alloc_shared((channels,), "float32")  # fmt: skip
            mean, s = T.alloc_shared((channels,), "float32"), T.alloc_shared((channels,), "float32")
            one, two = T.alloc_shared((1,), "float32"), T.alloc_shared((1,), "float32")
            T.fill(mean, 0.0)
            T.fill(s, 0.0)
            for c in T.serial(C // channels):
                T.copy(X[b, g, c * channels, 0], x)
                T.reduce_sum(x, part, dim=-1)
                for i in T.Parallel(channels):
                    mean[i] = mean[i] + part[i]
                for i, j in T.Parallel(channels, L):
                    q[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(q, part, dim=-1)
                for i in T.Parallel(channels):
                    s[i] = s[i] + part[i]
            T.reduce_sum(mean, one, dim=0)
            T.reduce_sum(s, two, dim=0)
            one[0] = one[0] / (C * L)
            two[0] = two[0] / (C * L) - one[0] * one[0]
            for c in T.serial(C // channels):
                T.copy(X[b, g, c * channels, 0], x)
                for i, j in T.Parallel(channels, L):
                    x[i, j] = (x[i, j] - one[0]) / T.sqrt(two[0] + 1e-5)
                T.copy(x, Y[b, g, c * channels, 0])

    return kernel
