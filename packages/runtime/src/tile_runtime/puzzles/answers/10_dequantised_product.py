"""Puzzle 10: a product with weights of four bits.

You learn: work for both kinds of core in one kernel. The vector cores unpack the weights, the
cube core multiplies, and the compiler carries the tiles from one to the other.

Task: C = A @ B, where A is half precision (M x K) and each byte of P (K x N / 2) holds two
weights. The low four bits are column j of B, the high four bits column j + N / 2, both with 8
added.

    B[k, j] = (P[k, j] & 15) - 8          B[k, j + N / 2] = (P[k, j] >> 4) - 8

`T.cast(x, "float16")` converts in a `T.Parallel` loop. A block makes the tile of C for one of the
two halves: `half` is 0 for the low bits and 1 for the high ones. C is declared as M x 2 x N / 2,
so the tile is a slice: C[row : row + BLOCK_M, half, column : column + BLOCK_N].

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 256, "N": 1024, "K": 512}
LIMIT = 15
BLOCK_M, BLOCK_N, BLOCK_K = 128, 128, 128


def inputs(M, N, K):
    return [torch.randn(M, K).half(), torch.randint(0, 256, (K, N // 2), dtype=torch.uint8)]


def reference(A, P):
    low, high = (P & 15).float() - 8, (P >> 4).float() - 8
    return A.float() @ torch.cat((low, high), dim=1)


@T.jit(out_idx=[-1])
def dequantised_product(M, N, K):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        P: T.Tensor((K, N // 2), "uint8"),
        C: T.Tensor((M, 2, N // 2), "float32"),
    ):
        with T.Kernel(T.ceildiv(N // 2, BLOCK_N), T.ceildiv(M, BLOCK_M), 2, threads=2) as (
            bx, by, half,
        ):  # fmt: skip
            # your part
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            p = T.alloc_shared((BLOCK_K, BLOCK_N), "uint8")
            b = T.alloc_shared((BLOCK_K, BLOCK_N), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, BLOCK_K)):
                T.copy(A[by * BLOCK_M, k * BLOCK_K], a)
                T.copy(P[k * BLOCK_K, bx * BLOCK_N], p)
                for i, j in T.Parallel(BLOCK_K, BLOCK_N):
                    b[i, j] = T.cast((p[i, j] >> (4 * half)) & 15, "float16") - 8.0
                T.gemm(a, b, c)
            T.copy(c, C[by * BLOCK_M : (by + 1) * BLOCK_M, half, bx * BLOCK_N : (bx + 1) * BLOCK_N])
            # end of your part

    return kernel


def launch(factory, data, **sizes):
    return factory(**sizes)(*data).reshape(sizes["M"], sizes["N"])


# for the judge
HIDDEN = ({"M": 3, "N": 2, "K": 5}, {"M": 140, "N": 300, "K": 200})
HINTS = (
    "Four tiles: a, the packed p (uint8), the unpacked b (float16), and the fragment c (float32).",
    "(p[i, j] >> (4 * half)) & 15 is the weight with 8 added, as an integer.",
    "b[i, j] = T.cast((p[i, j] >> (4 * half)) & 15, 'float16') - 8.0, then T.gemm(a, b, c).",
    "With row = by * BLOCK_M and column = bx * BLOCK_N the product goes to "
    "C[row : row + BLOCK_M, half, column : column + BLOCK_N].",
)
