"""Puzzle 19: the order of tiles and the L2 cache.

You learn: blocks that run at the same time share what they load if they work on neighbouring
tiles.

Task: C = A @ B with one block for each tile of C. Below, consecutive blocks go down a column of
tiles, so the 24 blocks that run together load 24 different bands of A. Change two things:

* Renumber the tiles so that they form a compact patch: `T.use_swizzle(cid, M, N, K, BLOCK_M,
  BLOCK_N, off=PANEL, dir=1)` maps `cid` to a tile number, row * n_tiles + column, in panels of
  PANEL columns.
* Tiles of a patch load the same bytes at the same time, and all wait for HBM. Let each tile
  begin elsewhere along K and go once around: step (k + start) % k_tiles in place of k, where
  `start` is (row + column) * (k_tiles // PANEL). Then one block brings a piece and the others
  find it in L2.

The compiler can do the same by merging tiles; the option `tl.ascend_retile` switches that off.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.05 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 3072, "N": 512, "K": 512}
LIMIT = 16.2
BLOCK_M, BLOCK_N, BLOCK_K, PANEL = 128, 128, 64, 4


def inputs(M, N, K):
    return [torch.randn(M, K).half(), torch.randn(K, N).half()]


def reference(A, B):
    return A.float() @ B.float()


@T.jit(out_idx=[-1], pass_configs={"tl.ascend_retile": False})
def l2_order(M, N, K):
    m_tiles, n_tiles, k_tiles = T.cdiv(M, BLOCK_M), T.cdiv(N, BLOCK_N), T.cdiv(K, BLOCK_K)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(m_tiles * n_tiles, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            b = T.alloc_shared((BLOCK_K, BLOCK_N), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            # your part
            tile = T.use_swizzle(cid, M, N, K, BLOCK_M, BLOCK_N, off=PANEL, dir=1)
            row, column = tile // n_tiles, tile % n_tiles
            start = (row + column) * (k_tiles // PANEL)
            for k in T.Pipelined(k_tiles, num_stages=2):
                step = (k + start) % k_tiles
                T.copy(A[row * BLOCK_M, step * BLOCK_K], a)
                T.copy(B[step * BLOCK_K, column * BLOCK_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            #: row, column = cid % m_tiles, cid // m_tiles
            #: for k in T.Pipelined(k_tiles, num_stages=2):
            #:     T.copy(A[row * BLOCK_M, k * BLOCK_K], a)
            #:     T.copy(B[k * BLOCK_K, column * BLOCK_N], b)
            #:     T.gemm_v0(a, b, c, init=(k == 0))
            # end of your part
            T.copy(c, C[row * BLOCK_M, column * BLOCK_N])

    return kernel


# for the judge
HIDDEN = ({"M": 64, "N": 256, "K": 128}, {"M": 300, "N": 700, "K": 200})
HINTS = (
    "tile = T.use_swizzle(cid, M, N, K, BLOCK_M, BLOCK_N, off=PANEL, dir=1), and from it "
    "row, column = tile // n_tiles, tile % n_tiles",
    "step = (k + (row + column) * (k_tiles // PANEL)) % k_tiles, in both loads in place of k; "
    "`init` stays k == 0.",
)
