"""Puzzle 09: a convolution of one dimension.

You learn: windows that overlap. A vector instruction reads from addresses that are multiples of
32 bytes, so the compiler moves a shifted window element by element; a load from gm can start
anywhere.

Task: Y[i, j] = sum over t < TAPS of X[i, j + t] * W[t], for float32 X of M x N; what lies beyond
the end of a row counts as zero. `W[t]` of a tile is a number that multiplies a whole tile.

    for t in T.serial(TAPS): ...

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 256, "N": 1024}
LIMIT = 17.7
TAPS = 8
ROWS, COLUMNS = 16, 512


def inputs(M, N):
    return [torch.randn(M, N), torch.randn(TAPS)]


def reference(X, W):
    padded = torch.nn.functional.pad(X[:, None], (0, TAPS - 1))
    return torch.nn.functional.conv1d(padded, W[None, None])[:, 0]


@T.jit(out_idx=[-1])
def convolution(M, N):
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), "float32"), W: T.Tensor((TAPS,), "float32"),
        Y: T.Tensor((M, N), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, COLUMNS), T.ceildiv(M, ROWS), threads=2) as (bx, by):
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            y = T.alloc_shared((ROWS, COLUMNS), "float32")
            w = T.alloc_shared((TAPS,), "float32")
            # your part
            T.copy(W, w)
            T.clear(y)
            for t in T.serial(TAPS):
                T.copy(X[by * ROWS, bx * COLUMNS + t], x)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    y[i, j] = y[i, j] + x[i, j] * w[t]
            T.copy(y, Y[by * ROWS, bx * COLUMNS])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 2}, {"M": 21, "N": 530})
HINTS = (
    "Copy W into w, clear y, and add the product of each tap to y.",
    "For tap t load the tile that starts t columns further on: X[by * ROWS, bx * COLUMNS + t].",
    "y[i, j] = y[i, j] + x[i, j] * w[t]",
)
