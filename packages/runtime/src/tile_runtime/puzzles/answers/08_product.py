"""Puzzle 08: the product of two matrices.

You learn: the cube core, tiles in three dimensions, and an accumulator of higher precision.

Task: C = A @ B for half-precision A (M x K) and B (K x N), with float32 sums and results. A block
makes one tile of C, going along K. `T.gemm(a, b, c)` adds a @ b to c; the compiler runs it on the
cube core and moves the tiles to its memories. `T.Pipelined(n, num_stages=2)` in place of
`T.serial(n)` loads the next tiles while the cube works on these.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 768, "N": 1024, "K": 768}
LIMIT = 16
BLOCK_M, BLOCK_N, BLOCK_K = 128, 256, 64


def inputs(M, N, K):
    return [torch.randn(M, K).half(), torch.randn(K, N).half()]


def reference(A, B):
    return A.float() @ B.float()


@T.jit(out_idx=[-1])
def product(M, N, K):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, BLOCK_N), T.ceildiv(M, BLOCK_M), threads=2) as (bx, by):
            # your part
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            b = T.alloc_shared((BLOCK_K, BLOCK_N), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BLOCK_K), num_stages=2):
                T.copy(A[by * BLOCK_M, k * BLOCK_K], a)
                T.copy(B[k * BLOCK_K, bx * BLOCK_N], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * BLOCK_M, bx * BLOCK_N])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 5, "K": 3}, {"M": 200, "N": 300, "K": 150})
HINTS = (
    "a and b are shared tiles (T.alloc_shared), c is a fragment of float32 (T.alloc_fragment).",
    "T.clear(c) before the loop over T.ceildiv(K, BLOCK_K); copy both tiles, then T.gemm(a, b, c).",
    "Rows start at by * BLOCK_M, columns at bx * BLOCK_N.",
)
