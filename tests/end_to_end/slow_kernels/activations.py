"""Activations of public libraries, element by element, as their formulas are written."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def mish(M=2048, N=1024, rows=4):
    """x * tanh(softplus(x))."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x = T.alloc_shared((rows, N), "float32")
            T.copy(X[cid * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.tanh(T.log(1.0 + T.exp(x[i, j])))
            T.copy(x, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def geglu(M=2048, N=1024, rows=4):
    """gelu of one input times the other, by the formula with tanh."""

    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            a, b = T.alloc_shared((rows, N), "float16"), T.alloc_shared((rows, N), "float16")
            y = T.alloc_shared((rows, N), "float32")
            T.copy(A[cid * rows, 0], a)
            T.copy(B[cid * rows, 0], b)
            for i, j in T.Parallel(rows, N):
                x = T.cast(a[i, j], "float32")
                cube = x * x * x
                y[i, j] = 0.5 * x * (1.0 + T.tanh(0.79788456 * (x + 0.044715 * cube)))
                y[i, j] = y[i, j] * T.cast(b[i, j], "float32")
            T.copy(y, Y[cid * rows, 0])

    return kernel


@T.jit(out_idx=[-1])
def soft_cap(M=2048, N=1024, cap=30.0, rows=4):
    """cap * tanh(x / cap), of logits."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x, y = T.alloc_shared((rows, N), "float16"), T.alloc_shared((rows, N), "float32")
            T.copy(X[cid * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                y[i, j] = cap * T.tanh(T.cast(x[i, j], "float32") / cap)
            T.copy(y, Y[cid * rows, 0])

    return kernel
