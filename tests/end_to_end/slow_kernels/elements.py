"""Slow kernels that work on elements: small tiles, one vector core, chains without overlap."""

import tile_frontend as T


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
