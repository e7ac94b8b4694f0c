"""Slow kernels over long rows, as of a vocabulary: pieces at a time, masks, rows read several times."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def argmax(M=512, V=8192, rows=8, chunk=1024):
    """The place of the greatest, a piece at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((M, V), "float32"), Y: T.Tensor((M,), "int32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, at = T.alloc_shared((rows, chunk), "float32"), T.alloc_shared((rows, chunk), "float32")  # fmt: skip
            top, best = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            new, place = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            y = T.alloc_shared((rows,), "int32")
            T.fill(top, -1e30)
            T.fill(best, 0.0)
            for c in T.serial(T.cdiv(V, chunk)):
                T.copy(X[cid * rows, c * chunk], x)
                T.reduce_max(x, new, dim=1)
                for i, j in T.Parallel(rows, chunk):
                    at[i, j] = T.if_then_else(x[i, j] == new[i], T.cast(c * chunk + j, "float32"), 1e9)  # fmt: skip
                T.reduce_min(at, place, dim=1)
                for i in T.Parallel(rows):
                    if new[i] > top[i]:
                        top[i] = new[i]
                        best[i] = place[i]
            for i in T.Parallel(rows):
                y[i] = T.cast(best[i], "int32")
            T.copy(y, Y[cid * rows])

    return kernel


@T.jit(out_idx=[-1])
def cross_entropy(M=512, V=8192, rows=4, chunk=512):
    """The logit of the label is found by a mask over all of them."""

    @T.prim_func
    def kernel(X: T.Tensor((M, V), "float16"), label: T.Tensor((M,), "int32"), Y: T.Tensor((M,), "float32")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, f = T.alloc_shared((rows, chunk), "float16"), T.alloc_shared((rows, chunk), "float32")  # fmt: skip
            own, at = T.alloc_shared((rows, chunk), "float32"), T.alloc_shared((rows,), "int32")
            top, new = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            part, s = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            logit = T.alloc_shared((rows,), "float32")
            T.fill(top, -1e30)
            T.fill(s, 0.0)
            T.fill(logit, 0.0)
            T.copy(label[cid * rows], at)
            for c in T.serial(T.cdiv(V, chunk)):
                T.copy(X[cid * rows, c * chunk], x)
                T.copy(x, f)
                for i, j in T.Parallel(rows, chunk):
                    own[i, j] = T.if_then_else(c * chunk + j == at[i], f[i, j], 0.0)
                T.reduce_sum(own, part, dim=1)
                for i in T.Parallel(rows):
                    logit[i] = logit[i] + part[i]
                T.reduce_max(f, new, dim=1)
                for i in T.Parallel(rows):
                    new[i] = T.max(new[i], top[i])
                for i, j in T.Parallel(rows, chunk):
                    f[i, j] = T.exp(f[i, j] - new[i])
                T.reduce_sum(f, part, dim=1)
                for i in T.Parallel(rows):
                    s[i] = s[i] * T.exp(top[i] - new[i]) + part[i]
                    top[i] = new[i]
            for i in T.Parallel(rows):
                s[i] = T.log(s[i]) + top[i] - logit[i]
            T.copy(s, Y[cid * rows])

    return kernel


@T.jit(out_idx=[-1])
def norm_in_passes(M=384, N=8192, rows=4, chunk=256):
    """Rows are read three times: for the mean, for the variance, and for the result."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, part = T.alloc_shared((rows, chunk), "float32"), T.alloc_shared((rows,), "float32")
            mean, s = T.alloc_shared((rows,), "float32"), T.alloc_shared((rows,), "float32")
            T.fill(mean, 0.0)
            T.fill(s, 0.0)
            for k in T.serial(T.cdiv(N, chunk)):
                T.copy(X[cid * rows, k * chunk], x)
                T.reduce_sum(x, part, dim=-1)
                for i in T.Parallel(rows):
                    mean[i] = mean[i] + part[i] / N
            for k in T.serial(T.cdiv(N, chunk)):
                T.copy(X[cid * rows, k * chunk], x)
                for i, j in T.Parallel(rows, chunk):
                    x[i, j] = (x[i, j] - mean[i]) * (x[i, j] - mean[i])
                T.reduce_sum(x, part, dim=-1)
                for i in T.Parallel(rows):
                    s[i] = s[i] + part[i]
            for k in T.serial(T.cdiv(N, chunk)):
                T.copy(X[cid * rows, k * chunk], x)
                for i, j in T.Parallel(rows, chunk):
                    x[i, j] = (x[i, j] - mean[i]) / T.sqrt(s[i] / N + 1e-5)
                T.copy(x, Y[cid * rows, k * chunk])

    return kernel


@T.jit(out_idx=[-1])
def softmax_by_row(M=3072, N=256, rows=16):
    """A loop over the rows of a block, each with instructions of its own."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, s = T.alloc_shared((1, N), "float32"), T.alloc_shared((1,), "float32")
            for r in T.serial(rows):
                T.copy(X[cid * rows + r, 0], x)
                T.reduce_max(x, s, dim=-1)
                for i, j in T.Parallel(1, N):
                    x[i, j] = T.exp(x[i, j] - s[i])
                T.reduce_sum(x, s, dim=-1)
                for i, j in T.Parallel(1, N):
                    x[i, j] = x[i, j] / s[i]
                T.copy(x, Y[cid * rows + r, 0])

    return kernel


@T.jit(out_idx=[-2, -1])
def top_k(M=768, N=2048, rows=2, k=32):
    """The greatest of each row, a row at a time."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, k), "float32"), at: T.Tensor((M, k), "int32")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, pairs = T.alloc_shared((rows, N), "float32"), T.alloc_shared((rows, 2 * k), "float32")  # fmt: skip
            y, place = T.alloc_shared((rows, k), "float32"), T.alloc_shared((rows, k), "float32")
            number = T.alloc_shared((rows, k), "int32")
            T.copy(X[cid * rows, 0], x)
            for i in T.serial(rows):
                T.tile.topk(pairs[i, :], x[i, :], k, N)
                T.tile.gather_mask(y[i, :], pairs[i, :], "P0101")
                T.tile.gather_mask(place[i, :], pairs[i, :], "P1010")
            T.copy(place, number)
            T.copy(y, Y[cid * rows, 0])
            T.copy(number, at[cid * rows, 0])

    return kernel
