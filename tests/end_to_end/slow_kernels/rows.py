"""Slow kernels that reduce rows or columns: a row at a time, short chunks, narrow stripes."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def softmax(M=2048, N=512, rows=1):
    """A row for each block, on one vector core."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=1) as cid:
            x, s = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows,), "float32")
            T.copy(X[cid * rows, 0], x)
            T.reduce_max(x, s, dim=-1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - s[i])
            T.reduce_sum(x, s, dim=-1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def layer_norm(M=1536, N=512, rows=2, cores=24):
    """Loads and stores take turns with the work."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(cores, threads=2) as cid:
            x, q = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            mean, s = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            for t in T.serial(T.ceildiv(T.cdiv(M, rows) - cid, cores)):
                T.copy(X[(cid + t * cores) * rows, 0], x)
                T.reduce_sum(x, mean, dim=-1)
                for i, j in T.Parallel(rows, N):
                    x[i, j] = x[i, j] - mean[i] / N
                for i, j in T.Parallel(rows, N):
                    q[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(q, s, dim=-1)
                for i, j in T.Parallel(rows, N):
                    x[i, j] = x[i, j] / T.sqrt(s[i] / N + 1e-5)
                T.copy(x, Y[(cid + t * cores) * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def column_sum(M=2048, N=1536, columns=16, rows=64):
    """Narrow stripes: rows of 64 bytes."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(T.cdiv(N, columns), threads=1) as cid:
            x = T.alloc_shared((rows, columns), "float32")
            part, s = T.alloc_shared((columns,), "float32"), T.alloc_shared((columns,), "float32")
            T.fill(s, 0.0)
            for k in T.serial(T.cdiv(M, rows)):
                T.copy(X[k * rows, cid * columns], x)
                T.reduce_sum(x, part, dim=0)
                for j in T.Parallel(columns):
                    s[j] = s[j] + part[j]
            T.copy(s, Y[cid * columns])

    return kernel


@T.jit(out_idx=[-1])
def log_sum_exp(M=384, N=16384, rows=4, chunk=256):
    """An online reduction with small chunks and one stage."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M,), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x = T.alloc_shared((rows, chunk), "float32")
            top, new = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            part, s = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            T.fill(top, -1e30)
            T.fill(s, 0.0)
            for k in T.Pipelined(T.cdiv(N, chunk), num_stages=1):
                T.copy(X[cid * rows, k * chunk], x)
                T.reduce_max(x, new, dim=-1)
                for i in T.Parallel(rows):
                    new[i] = T.max(new[i], top[i])
                for i, j in T.Parallel(rows, chunk):
                    x[i, j] = T.exp(x[i, j] - new[i])
                T.reduce_sum(x, part, dim=-1)
                for i in T.Parallel(rows):
                    s[i] = s[i] * T.exp(top[i] - new[i]) + part[i]
                    top[i] = new[i]
            for i in T.Parallel(rows):
                s[i] = T.log(s[i]) + top[i]
            T.copy(s, Y[cid * rows])

    return kernel


@T.jit(out_idx=[-1])
def running_sum(M=1024, N=512, rows=1):
    """Sums along rows, a row at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, y = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, N), "float32")
            T.copy(X[cid * rows, 0], x)
            T.cumsum(x, y, dim=1)
            T.copy(y, Y[cid * rows, 0])

    return kernel
