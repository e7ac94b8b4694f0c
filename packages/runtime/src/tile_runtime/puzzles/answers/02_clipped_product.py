"""Puzzle 02: multiply two vectors and clip the result.

You learn: `T.Parallel` computes every element of a tile, and the compiler makes vector
instructions of it.

Task: Y = min(max(A * B, 0), 6) for vectors of N float32 numbers. Load both tiles, compute in a
`T.Parallel` loop, store the result:

    for i in T.Parallel(BLOCK):
        a[i] = ...        # with +, -, *, /, T.max, T.min, T.exp, T.if_then_else, ...

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"N": 500_000}
LIMIT = 15
BLOCK = 4096


def inputs(N):
    return [torch.randn(N) * 3, torch.randn(N) * 3]


def reference(A, B):
    return (A * B).clamp(0, 6)


@T.jit(out_idx=[-1])
def clipped_product(N):
    @T.prim_func
    def kernel(
        A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")
    ):
        with T.Kernel(T.ceildiv(N, BLOCK), threads=2) as cid:
            a = T.alloc_shared((BLOCK,), "float32")
            b = T.alloc_shared((BLOCK,), "float32")
            # your part
            T.copy(A[cid * BLOCK], a)
            T.copy(B[cid * BLOCK], b)
            for i in T.Parallel(BLOCK):
                a[i] = T.min(T.max(a[i] * b[i], 0.0), 6.0)
            T.copy(a, Y[cid * BLOCK])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"N": 5}, {"N": 12287})
HINTS = (
    "Copy both tiles in, as in puzzle 01, before the loop.",
    "One statement in the loop is enough: a[i] = T.min(T.max(a[i] * b[i], 0.0), 6.0).",
    "After the loop the result is in a: copy it to Y[cid * BLOCK].",
)
