"""Puzzle 18: persistent blocks.

You learn: starting a block costs time. A launch with one block for each core, each of which goes
over many tiles, pays once, and loads what all tiles share once.

Task: Y[i, j] = X[i, j] + B[i % ROWS, j]: a table B of ROWS x N is added to every tile of ROWS
rows. Below, each tile has a block, which loads B anew. Start CORES blocks, and load B once in each.
Let each vector core go over the tiles lane, lane + LANES, lane + 2 * LANES, ..., where `lane`
is cid * 2 + vid. The options keep the compiler from doing this by itself. Pipeline the loop.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.04 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"tiles": 480, "N": 512}
LIMIT = 14.5
ROWS, CORES = 8, 24
LANES = 2 * CORES

OPTIONS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: False,
    "tl.ascend_overlap_loops": False,
}


def inputs(tiles, N):
    return [torch.randn(tiles * ROWS, N), torch.randn(ROWS, N)]


def reference(X, B):
    return (X.view(-1, *B.shape) + B).view(X.shape)


@T.jit(out_idx=[-1], pass_configs=OPTIONS)
def persistent(tiles, N):
    rows = tiles * ROWS

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, N), "float32"),
        B: T.Tensor((ROWS, N), "float32"),
        Y: T.Tensor((rows, N), "float32"),
    ):
        # your part
        with T.Kernel(CORES, is_npu=True) as (cid, vid):
            x = T.alloc_ub((ROWS, N), "float32")
            y = T.alloc_ub((ROWS, N), "float32")
            b = T.alloc_ub((ROWS, N), "float32")
            with T.Scope("V"):
                lane = cid * 2 + vid
                T.copy(B, b)
                for k in T.Pipelined(T.ceildiv(tiles - lane, LANES), num_stages=2):
                    row = (lane + k * LANES) * ROWS
                    T.copy(X[row, 0], x)
                    T.tile.add(y, x, b)
                    T.copy(y, Y[row, 0])
        #: with T.Kernel(T.ceildiv(tiles, 2), is_npu=True) as (cid, vid):
        #:     x = T.alloc_ub((ROWS, N), "float32")
        #:     y = T.alloc_ub((ROWS, N), "float32")
        #:     b = T.alloc_ub((ROWS, N), "float32")
        #:     with T.Scope("V"):
        #:         row = (cid * 2 + vid) * ROWS
        #:         T.copy(B, b)
        #:         T.copy(X[row, 0], x)
        #:         T.tile.add(y, x, b)
        #:         T.copy(y, Y[row, 0])
        # end of your part

    return kernel


# for the judge
HIDDEN = ({"tiles": 1, "N": 64}, {"tiles": 101, "N": 72})
HINTS = (
    "T.Kernel(CORES, is_npu=True), and the load of B before the loop.",
    "A lane has T.ceildiv(tiles - lane, LANES) tiles; tile number k of it is lane + k * LANES.",
    "for k in T.Pipelined(T.ceildiv(tiles - lane, LANES), num_stages=2): ...",
)
