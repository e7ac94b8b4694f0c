"""Puzzle 07: attention with one number for each key.

You learn: the step from softmax to attention is a sum with weights, which the running maximum
corrects as it does the sum.

Task: each row has a query Q[b], N keys K[b, :] and N values V[b, :], all float32 numbers. Compute

    Y[b] = sum over j of softmax(Q[b] * K[b, :])[j] * V[b, j]

in one pass over K and V: besides the sum of puzzle 06 keep a second one, that of exp(...) * V,
and shrink both by exp(old - new). Divide at the end. Keys beyond the end must get no weight.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"B": 256, "N": 2048}
LIMIT = 12.7
ROWS, COLUMNS = 8, 512


def inputs(B, N):
    return [torch.randn(B), torch.randn(B, N), torch.randn(B, N)]


def reference(Q, K, V):
    return (torch.softmax(Q[:, None] * K, dim=1) * V).sum(dim=1)


@T.jit(out_idx=[-1])
def scalar_attention(B, N):
    @T.prim_func
    def kernel(
        Q: T.Tensor((B,), "float32"),
        K: T.Tensor((B, N), "float32"),
        V: T.Tensor((B, N), "float32"),
        Y: T.Tensor((B,), "float32"),
    ):
        with T.Kernel(T.ceildiv(B, ROWS), threads=2) as cid:
            q = T.alloc_shared((ROWS,), "float32")
            k = T.alloc_shared((ROWS, COLUMNS), "float32")
            v = T.alloc_shared((ROWS, COLUMNS), "float32")
            peak = T.alloc_shared((ROWS,), "float32")
            new = T.alloc_shared((ROWS,), "float32")
            part = T.alloc_shared((ROWS,), "float32")
            total = T.alloc_shared((ROWS,), "float32")  # the sum of weights
            y = T.alloc_shared((ROWS,), "float32")  # the sum of weights times values
            # your part
            T.copy(Q[cid * ROWS], q)
            T.fill(peak, -1e30)
            T.clear(total)
            T.clear(y)
            for n in T.serial(T.ceildiv(N, COLUMNS)):
                T.copy(K[cid * ROWS, n * COLUMNS], k)
                T.copy(V[cid * ROWS, n * COLUMNS], v)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    k[i, j] = T.if_then_else(n * COLUMNS + j < N, q[i] * k[i, j], -1e30)
                T.reduce_max(k, new, dim=1)
                for i in T.Parallel(ROWS):
                    new[i] = T.max(new[i], peak[i])
                    peak[i] = T.exp(peak[i] - new[i])  # what sums so far shrink by
                for i, j in T.Parallel(ROWS, COLUMNS):
                    k[i, j] = T.exp(k[i, j] - new[i])
                    v[i, j] = v[i, j] * k[i, j]
                T.reduce_sum(k, part, dim=1)
                for i in T.Parallel(ROWS):
                    total[i] = total[i] * peak[i] + part[i]
                T.reduce_sum(v, part, dim=1)
                for i in T.Parallel(ROWS):
                    y[i] = y[i] * peak[i] + part[i]
                T.copy(new, peak)
            for i in T.Parallel(ROWS):
                y[i] = y[i] / total[i]
            T.copy(y, Y[cid * ROWS])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"B": 13, "N": 900},)
HINTS = (
    "Scores of a tile: k[i, j] = q[i] * k[i, j]. A query may be negative, so padding K with -inf "
    "does not help: write -1e30 where n * COLUMNS + j >= N, by T.if_then_else.",
    "Shrink both sums by T.exp(peak[i] - new[i]) before you add the sums of the tile.",
    "After the loop: y[i] = y[i] / total[i].",
)
