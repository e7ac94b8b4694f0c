"""Puzzle 03: a table of differences.

You learn: tiles of two dimensions, and operands that repeat along a dimension.

Task: Y[i, j] = A[i] - B[j] for A of M and B of N float32 numbers. The grid has two dimensions
here: `bx` counts tiles along N, `by` along M. In `T.Parallel(ROWS, COLUMNS)` an operand may use
only one of the indices; the compiler repeats it along the other one.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 768, "N": 1024}
LIMIT = 12.5
ROWS, COLUMNS = 32, 256


def inputs(M, N):
    return [torch.randn(M), torch.randn(N)]


def reference(A, B):
    return A[:, None] - B[None, :]


@T.jit(out_idx=[-1])
def outer_difference(M, N):
    @T.prim_func
    def kernel(
        A: T.Tensor((M,), "float32"), B: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")
    ):
        with T.Kernel(T.ceildiv(N, COLUMNS), T.ceildiv(M, ROWS), threads=2) as (bx, by):
            # your part
            a = T.alloc_shared((ROWS,), "float32")
            b = T.alloc_shared((COLUMNS,), "float32")
            y = T.alloc_shared((ROWS, COLUMNS), "float32")
            T.copy(A[by * ROWS], a)
            T.copy(B[bx * COLUMNS], b)
            for i, j in T.Parallel(ROWS, COLUMNS):
                y[i, j] = a[i] - b[j]
            T.copy(y, Y[by * ROWS, bx * COLUMNS])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 1}, {"M": 77, "N": 500})
HINTS = (
    "You need three tiles: ROWS numbers of A, COLUMNS numbers of B, and ROWS x COLUMNS results.",
    "In the loop: y[i, j] = a[i] - b[j].",
    "The tile of Y starts at Y[by * ROWS, bx * COLUMNS].",
)
