"""Puzzle 21: mend a slow kernel.

You learn: to read a verdict on time. An operation without a vector instruction stays a loop on the
scalar unit, one element after the other; the compiler reports the reason and the missing fact.

Task: Y = X % 1_000_000, the part below a second, for int32 microseconds X between 0 and 2,000,000.
The kernel below is right and slow. `puzzles check` prints what binds it and the remark of the
compiler at the line. Give the compiler the facts you have about the numbers.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 192, "N": 256}
LIMIT = 11
ROWS = 8


def inputs(M, N):
    return [torch.randint(0, 2_000_001, (M, N), dtype=torch.int32)]


def reference(X):
    return X % 1_000_000


@T.jit(out_idx=[-1])
def slow_kernel(M, N):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), Y: T.Tensor((M, N), "int32")):
        with T.Kernel(T.ceildiv(M, ROWS), threads=2) as cid:
            x = T.alloc_shared((ROWS, N), "int32")
            T.copy(X[cid * ROWS, 0], x)
            # your part
            for i, j in T.Parallel(ROWS, N):
                x[i, j] = T.min(T.max(x[i, j], 0), 2_000_000) % 1_000_000
            #: for i, j in T.Parallel(ROWS, N):
            #:     x[i, j] = x[i, j] % 1_000_000
            # end of your part
            T.copy(x, Y[cid * ROWS, 0])

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 1}, {"M": 30, "N": 77})
HINTS = (
    "The compiler divides by way of float32, which is exact for small numbers only.",
    "T.min(T.max(x, 0), 2_000_000) changes none of the numbers, and bounds them for the compiler.",
)
