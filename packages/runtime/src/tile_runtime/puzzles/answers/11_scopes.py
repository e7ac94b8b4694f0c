"""Puzzle 11: name the memories and the cores.

You learn: the memories of a core and what each is for, and which core runs a statement.

From here on you write what the compiler chose before. A block has a cube core, with the memories
L1 (tiles of operands) and L0C (results of products), and two vector cores, each with a unified
buffer (UB). `with T.Scope("C")` runs on the cube core, `with T.Scope("V")` on both vector cores;
`vid` is 0 on one and 1 on the other. The only way from L0C to a UB is gm: here the workspace
`room`.

    T.alloc_L1(shape, dtype)   T.alloc_L0C(shape, dtype)   T.alloc_ub(shape, dtype)

Task: C = max(A @ B, 0) for A of M x 64 and B of 64 x 128, half precision in, float32 out. The
cube core multiplies 32 rows of A with B and stores them to `room`; each vector core takes 16 of
these rows, applies `T.tile.relu(dst, src)` and stores them to C. Flags are not your task yet:
both options below leave them to the compiler.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 768}
LIMIT = 12
N, K = 128, 64

ORDER = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def inputs(M):
    return [torch.randn(M, K).half(), torch.randn(K, N).half()]


def reference(A, B):
    return torch.relu(A.float() @ B.float())


@T.jit(out_idx=[2], workspace_idx=[3], pass_configs=ORDER)
def scopes(M):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
        room: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, 32), is_npu=True) as (cid, vid):
            # your part
            a = T.alloc_L1((32, K), "float16")
            b = T.alloc_L1((K, N), "float16")
            product = T.alloc_L0C((32, N), "float32")
            c = T.alloc_ub((16, N), "float32")
            with T.Scope("C"):
                T.copy(A[cid * 32, 0], a)
                T.copy(B, b)
                T.gemm_v0(a, b, product, init=True)
                T.copy(product, room[cid * 32, 0])
            with T.Scope("V"):
                row = cid * 32 + vid * 16
                T.copy(room[row, 0], c)
                T.tile.relu(c, c)
                T.copy(c, C[row, 0])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 32}, {"M": 100})
HINTS = (
    "Operands of T.gemm_v0(a, b, product, init=True) lie in L1, its result in L0C.",
    "In scope C: load a and b, multiply, copy the product to room[cid * 32, 0].",
    "In scope V: row = cid * 32 + vid * 16; copy room[row, 0] to a UB tile of 16 x N, relu, store.",
)
