"""Puzzle 01: copy a vector.

You learn: a kernel is a grid of blocks, a block works on a tile in on-chip memory, and `T.copy`
moves tiles in and out.

Task: Y = X for a vector of N half-precision numbers. `T.Kernel(n, threads=2)` starts n blocks,
and `cid` is the number of the block. A block copies BLOCK numbers: gm -> tile -> gm. `X[start]`
as an operand of `T.copy` means the tile that starts there. Where the last tile hangs over the end
of the vector, `T.copy` moves only what is inside.

    x = T.alloc_shared((BLOCK,), "float16")   # a tile
    T.copy(source, destination)

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"N": 1_000_000}
LIMIT = 13
BLOCK = 8192


def inputs(N):
    return [torch.randn(N).half()]


def reference(X):
    return X


@T.jit(out_idx=[-1])
def copy(N):
    @T.prim_func
    def kernel(X: T.Tensor((N,), "float16"), Y: T.Tensor((N,), "float16")):
        with T.Kernel(T.ceildiv(N, BLOCK), threads=2) as cid:
            # your part
            x = T.alloc_shared((BLOCK,), "float16")
            T.copy(X[cid * BLOCK], x)
            T.copy(x, Y[cid * BLOCK])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"N": 1}, {"N": 9195})
HINTS = (
    "Block `cid` copies the numbers from cid * BLOCK on.",
    "Three statements: allocate x, T.copy(X[cid * BLOCK], x), and the same back to Y.",
)
