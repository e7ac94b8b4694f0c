"""Slow kernels with products of matrices: small tiles, short steps, no stages, too few blocks."""

import tile_frontend as T

# Rows and columns of a tile of `batched`.
TILE = 32


@T.jit(out_idx=[-1])
def gemm(M=1024, N=1024, K=1024, block_M=32, block_N=32, block_K=32):
    """Small tiles."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block_N), T.cdiv(M, block_M)) as (bx, by):
            a, b = T.alloc_shared((block_M, block_K), "float16"), T.alloc_shared((block_K, block_N), "float16")  # fmt: skip
            c = T.alloc_fragment((block_M, block_N), "float32")
            for k in T.serial(T.cdiv(K, block_K)):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


@T.jit(out_idx=[-1])
def gemm_written(M=1536, N=1024, K=1024):
    """Sizes written down, as in a first example."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, 64), T.cdiv(M, 64)) as (bx, by):
            a, b = T.alloc_shared((64, 16), "float16"), T.alloc_shared((16, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            for k in T.Pipelined(T.cdiv(K, 16), num_stages=1):
                T.copy(A[by * 64, k * 16], a)
                T.copy(B[k * 16, bx * 64], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[by * 64, bx * 64])

    return kernel


@T.jit(out_idx=[-1])
def gemm_few(M=512, N=512, K=2048, block=256, block_K=64):
    """Four blocks on a chip of 24 cores."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block // 2), T.cdiv(M, block)) as (bx, by):
            a, b = T.alloc_shared((block, block_K), "float16"), T.alloc_shared((block_K, block // 2), "float16")  # fmt: skip
            c = T.alloc_fragment((block, block // 2), "float32")
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=2):
                T.copy(A[by * block, k * block_K], a)
                T.copy(B[k * block_K, bx * block // 2], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[by * block, bx * block // 2])

    return kernel


@T.jit(out_idx=[-1])
def gemm_int8(M=1024, N=1024, K=2048, block_M=128, block_N=64, block_K=32):
    """Short steps along k: rows of 32 bytes."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "int8"), B: T.Tensor((K, N), "int8"), C: T.Tensor((M, N), "int32")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block_N), T.cdiv(M, block_M)) as (bx, by):
            a, b = T.alloc_shared((block_M, block_K), "int8"), T.alloc_shared((block_K, block_N), "int8")  # fmt: skip
            c = T.alloc_fragment((block_M, block_N), "int32")
            for k in T.serial(T.cdiv(K, block_K)):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


@T.jit(out_idx=[-1])
def gemm_last_wave(M=1280, N=640, K=2048, block=128):
    """Fifty tiles on 24 cores: the third round has two."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(N, block), T.cdiv(M, block)) as (bx, by):
            a, b = T.alloc_shared((block, 64), "float16"), T.alloc_shared((64, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            for k in T.Pipelined(T.cdiv(K, 64), num_stages=2):
                T.copy(A[by * block, k * 64], a)
                T.copy(B[k * 64, bx * block], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[by * block, bx * block])

    return kernel
