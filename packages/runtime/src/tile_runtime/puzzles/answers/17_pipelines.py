"""Puzzle 17: a software pipeline.

You learn: `T.Pipelined` overlaps the iterations of a loop: slots, flags, prologue and epilogue of
puzzle 13 are the compiler's then.

Task: Y = sqrt(X * X + 1), tile by tile. The loop below is serial, and the option keeps the compiler
from overlapping it by itself. Make a pipelined loop of it, with as many stages as help. Does a
second tile for the result help too?

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.2 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"tiles": 10}
LIMIT = 17
TOLERANCE = 1e-6
ROWS, COLUMNS, CORES = 4, 1024, 24

OPTIONS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    "tl.ascend_overlap_loops": False,
}


def inputs(tiles):
    return [torch.randn(CORES * 2 * tiles * ROWS, COLUMNS)]


def reference(X):
    return (X * X + 1).sqrt()


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
                        y[i, j] = T.sqrt(x[i, j] * x[i, j] + 1.0)
                    T.copy(y, Y[row, 0])
            #| x = T.alloc_ub((ROWS, COLUMNS), "float32")
            #| with T.Scope("V"):
            #|     for k in T.serial(tiles):
            #|         row = ((cid * 2 + vid) * tiles + k) * ROWS
            #|         T.copy(X[row, 0], x)
            #|         for i, j in T.Parallel(ROWS, COLUMNS):
            #|             x[i, j] = T.sqrt(x[i, j] * x[i, j] + 1.0)
            #|         T.copy(x, Y[row, 0])
            # end of your part

    return kernel


# for the judge
HIDDEN = ({"tiles": 1}, {"tiles": 3})
HINTS = (
    "for k in T.Pipelined(tiles, num_stages=2): is all that the loop needs.",
    "With a tile y of its own for the result, the next load need not wait for the store.",
)
