"""The gate of a feed-forward layer, y = gelu(x[:, :N]) * x[:, N:], with automatic synchronisation.

A tile is some rows and some columns; every vector core takes each `lanes`-th one. Two slots for
what is loaded and two for what is stored let the pipes work on neighbouring tiles at once.
Gelu is the usual approximation, x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x ** 3)).
"""

import math

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def gelu_mul(
    M: int, N: int, rows: int, block_N: int, cores: int, dtype: str = "float16"
) -> T.PrimFunc:
    column_tiles = T.cdiv(N, block_N)
    tiles = T.cdiv(M, rows) * column_tiles
    lanes = 2 * cores
    slots = 2
    accum = "float32"
    slope = 2.0 * math.sqrt(2.0 / math.pi)

    @T.macro
    def gelu(x: T.Tensor, y: T.Tensor) -> None:
        T.tile.mul(y, x, x)
        T.tile.mul(y, y, -slope * 0.044715)
        T.tile.add(y, y, -slope)
        T.tile.mul(y, y, x)
        T.tile.exp(y, y)
        T.tile.add(y, y, 1.0)
        T.tile.div(x, x, y)

    @T.prim_func
    def gate(X: T.Tensor((M, 2 * N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            left = T.alloc_ub((slots, rows, block_N), dtype)
            right = T.alloc_ub((slots, rows, block_N), dtype)
            done = T.alloc_ub((slots, rows, block_N), dtype)
            x = T.alloc_ub((rows, block_N), accum)
            y = T.alloc_ub((rows, block_N), accum)
            with T.Scope("V"):
                lane = cid * 2 + vid
                for i in T.serial(T.ceildiv(tiles - lane, lanes)):
                    tile = lane + i * lanes
                    slot = i % slots
                    row = tile // column_tiles * rows
                    column = tile % column_tiles * block_N
                    # Columns of `left` past N belong to the other half: they are not stored.
                    T.copy(X[row, column], left[slot, :, :])
                    T.copy(X[row, N + column], right[slot, :, :])
                    T.tile.cast(x, left[slot, :, :])
                    gelu(x, y)
                    T.tile.cast(y, right[slot, :, :])
                    T.tile.mul(x, x, y)
                    T.tile.cast(done[slot, :, :], x, "CAST_RINT")
                    T.copy(done[slot, :, :], Y[row, column])

    return gate


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows, block_N, cores in ((1024, 1024, 8, 512, 24), (301, 1400, 16, 256, 5)):
        x = torch.randn(M, 2 * N).half()
        left, right = x.float().chunk(2, dim=-1)
        run_and_report(
            f"gelu mul {M}x{N} float16",
            lambda M=M, N=N, rows=rows, block_N=block_N, cores=cores: gelu_mul(
                M, N, rows, block_N, cores
            ),
            [x],
            torch.nn.functional.gelu(left, approximate="tanh") * right,
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
