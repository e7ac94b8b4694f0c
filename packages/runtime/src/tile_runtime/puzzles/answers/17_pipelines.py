"""Puzzle 17: a software pipeline.

You learn: `T.Pipelined` overlaps the iterations of a loop: slots, flags, prologue and epilogue of
puzzle 13 are the compiler's then.

Task: Y = sigmoid(X) * sqrt(X * X + 1), tile by tile. The loop below is serial, and the option
keeps the compiler from overlapping it by itself: each load waits until the tile before has been
computed. Make a pipelined loop of it.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.1 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"tiles": 10}
LIMIT = 16
ROWS, COLUMNS, CORES = 4, 1024, 24

OPTIONS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    "tl.ascend_overlap_loops": False,
}


def inputs(tiles):
    return [torch.randn(CORES * 2 * tiles * ROWS, COLUMNS)]


def reference(X):
    return torch.sigmoid(X) * (X * X + 1).sqrt()


@T.jit(out_idx=[-1], pass_configs=OPTIONS)
def pipelines(tiles):
    rows = CORES * 2 * tiles * ROWS

    @T.prim_func
    def kernel(X: T.Tensor((rows, COLUMNS), "float32"), Y: T.Tensor((rows, COLUMNS), "float32")):
        with T.Kernel(CORES, is_npu=True) as (cid, vid):
            # your part
            x = T.alloc_ub((ROWS, COLUMNS), "float32")
            y = T.alloc_ub((ROWS, COLUMNS), "float32")
            with T.Scope("V"):
                for k in T.Pipelined(tiles, num_stages=2):
                    row = ((cid * 2 + vid) * tiles + k) * ROWS
                    T.copy(X[row, 0], x)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        y[i, j] = T.sqrt(x[i, j] * x[i, j] + 1.0) / (1.0 + T.exp(-x[i, j]))
                    T.copy(y, Y[row, 0])
            #: x = T.alloc_ub((ROWS, COLUMNS), "float32")
            #: y = T.alloc_ub((ROWS, COLUMNS), "float32")
            #: with T.Scope("V"):
            #:     for k in T.serial(tiles):
            #:         row = ((cid * 2 + vid) * tiles + k) * ROWS
            #:         T.copy(X[row, 0], x)
            #:         for i, j in T.Parallel(ROWS, COLUMNS):
            #:             y[i, j] = T.sqrt(x[i, j] * x[i, j] + 1.0) / (1.0 + T.exp(-x[i, j]))
            #:         T.copy(y, Y[row, 0])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"tiles": 1}, {"tiles": 3})
HINTS = (
    "Only the line of the loop changes.",
    "for k in T.Pipelined(tiles, num_stages=2):",
)
