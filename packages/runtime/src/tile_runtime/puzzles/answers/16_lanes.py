"""Puzzle 16: two lanes.

You learn: both vector cores of a block run the same text; `vid` distinguishes them.

Task: Y[i, j] = X[i, j] * W[j]. Below, both vector cores do the same rows. The result is right,
but the work is done twice, and the simulator reports the second store. Give each vector core half
of the rows.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.2 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 768, "N": 1024}
LIMIT = 13.5
ROWS = 32


def inputs(M, N):
    return [torch.randn(M, N), torch.randn(N)]


def reference(X, W):
    return X * W


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def lanes(M, N):
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), "float32"), W: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")
    ):
        with T.Kernel(T.ceildiv(M, ROWS), is_npu=True) as (cid, vid):
            # your part
            x = T.alloc_ub((ROWS // 2, N), "float32")
            w = T.alloc_ub((N,), "float32")
            with T.Scope("V"):
                row = cid * ROWS + vid * (ROWS // 2)
                T.copy(W, w)
                T.copy(X[row, 0], x)
                for i in T.serial(ROWS // 2):
                    T.tile.mul(x[i, :], x[i, :], w)
                T.copy(x, Y[row, 0])
            #: x = T.alloc_ub((ROWS, N), "float32")
            #: w = T.alloc_ub((N,), "float32")
            #: with T.Scope("V"):
            #:     row = cid * ROWS
            #:     T.copy(W, w)
            #:     T.copy(X[row, 0], x)
            #:     for i in T.serial(ROWS):
            #:         T.tile.mul(x[i, :], x[i, :], w)
            #:     T.copy(x, Y[row, 0])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 1, "N": 8}, {"M": 83, "N": 200})
HINTS = (
    "A tile of ROWS // 2 rows is enough for each vector core.",
    "The rows of a vector core start at cid * ROWS + vid * (ROWS // 2).",
    "The loop over rows has ROWS // 2 iterations too.",
)
