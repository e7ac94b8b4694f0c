"""Operations of public libraries along rows: norms, losses, quantisation, a layer."""

import tile_frontend as T


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
