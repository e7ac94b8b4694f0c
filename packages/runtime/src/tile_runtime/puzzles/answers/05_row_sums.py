"""Puzzle 05: sums of rows.

You learn: reductions, a serial loop over tiles, and an accumulator that lives across iterations.

Task: Y[i] = sum of X[i, :] for M x N float32 numbers. A block has ROWS rows and goes over their
columns, COLUMNS at a time.

    T.reduce_sum(x, part, dim=1)     # part[i] = sum of x[i, :]
    T.clear(total)                   # zeros
    for k in T.serial(n):            # one iteration after the other

A tile that hangs over the end of a row is filled with zeros by `T.copy`.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 1024, "N": 1536}
LIMIT = 18
ROWS, COLUMNS = 32, 512


def inputs(M, N):
    return [torch.rand(M, N)]


def reference(X):
    return X.sum(dim=1)


@T.jit(out_idx=[-1])
def row_sums(M, N):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, ROWS), threads=2) as cid:
            # your part
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            part = T.alloc_shared((ROWS,), "float32")
            total = T.alloc_shared((ROWS,), "float32")
            T.clear(total)
            for k in T.serial(T.ceildiv(N, COLUMNS)):
                T.copy(X[cid * ROWS, k * COLUMNS], x)
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(ROWS):
                    total[i] = total[i] + part[i]
            T.copy(total, Y[cid * ROWS])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 1}, {"M": 50, "N": 1300})
HINTS = (
    "Clear the accumulator before the loop, and add the sums of each tile to it.",
    "The loop runs T.ceildiv(N, COLUMNS) times; N // COLUMNS would leave the tail out.",
    "After T.reduce_sum(x, part, dim=1): for i in T.Parallel(ROWS): total[i] = total[i] + part[i].",
)
