"""Puzzle 04: a gradient.

You learn: fuse a whole formula into one pass over memory, with a condition per element.

Task: the forward pass is Y = leaky_relu(X) * W, with slope 0.1 below zero and a weight for each
column. Given X, W and the gradient G of Y, compute the gradient of X:

    D[i, j] = G[i, j] * W[j] * (1 if X[i, j] > 0 else 0.1)

`T.if_then_else(condition, a, b)` chooses per element. Every number of X and G should be loaded
once, and every number of D stored once.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 512, "N": 1024}
LIMIT = 15
ROWS, COLUMNS = 16, 512


def inputs(M, N):
    return [torch.randn(M, N), torch.randn(N), torch.randn(M, N)]


def reference(X, W, G):
    X = X.clone().requires_grad_(True)
    (torch.nn.functional.leaky_relu(X, 0.1) * W).backward(G)
    return X.grad


@T.jit(out_idx=[-1])
def backward(M, N):
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), "float32"),
        W: T.Tensor((N,), "float32"),
        G: T.Tensor((M, N), "float32"),
        D: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, COLUMNS), T.ceildiv(M, ROWS), threads=2) as (bx, by):
            # your part
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            g = T.alloc_shared((ROWS, COLUMNS), "float32")
            w = T.alloc_shared((COLUMNS,), "float32")
            T.copy(X[by * ROWS, bx * COLUMNS], x)
            T.copy(G[by * ROWS, bx * COLUMNS], g)
            T.copy(W[bx * COLUMNS], w)
            for i, j in T.Parallel(ROWS, COLUMNS):
                g[i, j] = g[i, j] * w[j] * T.if_then_else(x[i, j] > 0, 1.0, 0.1)
            T.copy(g, D[by * ROWS, bx * COLUMNS])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 35, "N": 700},)
HINTS = (
    "The forward result is not needed: the sign of X decides which factor G[i, j] * W[j] gets.",
    "Tiles: x and g of ROWS x COLUMNS, w of COLUMNS.",
    "g[i, j] = g[i, j] * w[j] * T.if_then_else(x[i, j] > 0, 1.0, 0.1)",
)
