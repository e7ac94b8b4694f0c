"""Operations of public libraries along rows: norms, losses, quantisation, a layer."""

import tile_frontend as T


@T.jit(out_idx=[-2, -1])
def add_rms_norm(M=2048, N=1024, rows=4, eps=1e-6):
    """The residual is added and returned beside the norm."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), R: T.Tensor((M, N), "float16"), W: T.Tensor((N,), "float16"), S: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, r = T.alloc_shared((rows, N), "float16"), T.alloc_shared((rows, N), "float16")
            w = T.alloc_shared((N,), "float16")
            a, q = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            s = T.alloc_shared((rows,), "float32")
            T.copy(X[cid * rows, 0], x)
            T.copy(R[cid * rows, 0], r)
            T.copy(W, w)
            for i, j in T.Parallel(rows, N):
                a[i, j] = T.cast(x[i, j], "float32") + T.cast(r[i, j], "float32")
                q[i, j] = a[i, j] * a[i, j]
            T.copy(a, S[cid * rows, 0])
            T.reduce_sum(q, s, dim=-1)
            for i, j in T.Parallel(rows, N):
                y = a[i, j] / T.sqrt(s[i] / N + eps)
                a[i, j] = y * T.cast(w[j], "float32")
            T.copy(a, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def kl_divergence(M=2048, N=1024, rows=4):
    """sum(p * (log(p) - q)) of each row."""

    @T.prim_func
    def kernel(P: T.Tensor((M, N), "float32"), Q: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            p, q = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            s = T.alloc_shared((rows,), "float32")
            T.copy(P[cid * rows, 0], p)
            T.copy(Q[cid * rows, 0], q)
            for i, j in T.Parallel(rows, N):
                a = T.abs(p[i, j]) + 1e-6
                q[i, j] = a * (T.log(a) - q[i, j])
            T.reduce_sum(q, s, dim=-1)
            T.copy(s, Y[cid * rows])

    return kernel


@T.jit(out_idx=[-1])
def unit_rows(M=2048, N=1024, rows=4):
    """Rows of length one."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, q = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            s = T.alloc_shared((rows,), "float32")
            T.copy(X[cid * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                q[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(q, s, dim=-1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] / T.max(T.sqrt(s[i]), 1e-6)
            T.copy(x, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def cosine(M=2048, N=1024, rows=4):
    """The cosine between rows of two matrices."""

    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            a, b = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            t = T.alloc_shared((rows, N), "float32")
            ab, aa = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            bb = T.alloc_shared((rows,), "float32")
            T.copy(A[cid * rows, 0], a)
            T.copy(B[cid * rows, 0], b)
            for i, j in T.Parallel(rows, N):
                t[i, j] = a[i, j] * b[i, j]
            T.reduce_sum(t, ab, dim=-1)
            for i, j in T.Parallel(rows, N):
                t[i, j] = a[i, j] * a[i, j]
            T.reduce_sum(t, aa, dim=-1)
            for i, j in T.Parallel(rows, N):
                t[i, j] = b[i, j] * b[i, j]
            T.reduce_sum(t, bb, dim=-1)
            for i in T.Parallel(rows):
                ab[i] = ab[i] / T.sqrt(aa[i] * bb[i] + 1e-6)
            T.copy(ab, Y[cid * rows])

    return kernel


@T.jit(out_idx=[-2, -1])
def group_quantise(M=1024, N=1024, rows=2):
    """int8 with a scale for every 128 values of a row."""
    groups = N // 128

    @T.prim_func
    def kernel(X: T.Tensor((M, groups, 128), "float16"), Y: T.Tensor((M, groups, 128), "int8"), S: T.Tensor((M, groups), "float32")):  # fmt: skip
        with T.Kernel(M // rows, threads=2) as cid:
            x, a = T.alloc_shared((groups, 128), "float32"), T.alloc_shared((groups, 128), "float32")  # fmt: skip
            s, q = T.alloc_shared((groups,), "float32"), T.alloc_shared((groups, 128), "int8")
            for r in T.serial(rows):
                T.copy(X[cid * rows + r, 0, 0], x)
                for i, j in T.Parallel(groups, 128):
                    a[i, j] = T.abs(x[i, j])
                T.reduce_max(a, s, dim=-1)
                for i in T.Parallel(groups):
                    s[i] = T.max(s[i], 1e-6) / 127.0
                for i, j in T.Parallel(groups, 128):
                    q[i, j] = T.cast(T.round(x[i, j] / s[i]), "int8")
                T.copy(q, Y[cid * rows + r, 0, 0])
                T.copy(s, S[cid * rows + r, 0])

    return kernel


@T.jit(out_idx=[-1])
def linear_gelu(M=1024, N=512, K=256, block_M=64, block_N=64, block_K=32):
    """A linear layer with bias and gelu."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), bias: T.Tensor((N,), "float32"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block_N), T.cdiv(M, block_M)) as (bx, by):
            a, b = T.alloc_shared((block_M, block_K), "float16"), T.alloc_shared((block_K, block_N), "float16")  # fmt: skip
            c, d = T.alloc_fragment((block_M, block_N), "float32"), T.alloc_shared((block_M, block_N), "float32")  # fmt: skip
            w = T.alloc_shared((block_N,), "float32")
            T.copy(bias[bx * block_N], w)
            for k in T.serial(T.cdiv(K, block_K)):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, d)
            for i, j in T.Parallel(block_M, block_N):
                x = d[i, j] + w[j]
                d[i, j] = 0.5 * x * (1.0 + T.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
            T.copy(d, C[by * block_M, bx * block_N])

    return kernel
