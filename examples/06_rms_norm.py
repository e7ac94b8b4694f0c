"""Root mean square norm, y = x / sqrt(mean(x ** 2) + eps) * weight, without a flag or barrier.

Automatic synchronisation does it all. Every vector core walks over blocks of rows and asks for the
next block before it works on this one, so that loads, computation and stores of three blocks can
overlap in two slots. Rows and columns may be of any number: what hangs over is cut.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[2], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def rms_norm(
    M: int, N: int, rows: int, cores: int, eps: float = 1e-6, dtype: str = "float16"
) -> T.PrimFunc:
    blocks = T.cdiv(M, rows)
    lanes = 2 * cores
    width = T.cdiv(N, 16) * 16  # rows in ub start at multiples of 32 bytes
    slots = 2
    accum = "float32"

    @T.prim_func
    def norm(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((1, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            raw = T.alloc_ub((slots, rows, width), dtype)
            done = T.alloc_ub((slots, rows, width), dtype)
            x = T.alloc_ub((rows, width), accum)
            work = T.alloc_ub((rows, width), accum)
            weight = T.alloc_ub((rows, width), accum)
            raw_weight = T.alloc_ub((1, width), dtype)
            ones = T.alloc_ub((rows,), accum)
            scale = T.alloc_ub((rows,), accum)
            with T.Scope("V"):
                lane = cid * 2 + vid
                mine = T.ceildiv(blocks - lane, lanes)
                if mine > 0:
                    T.copy(X[lane * rows, 0], raw[0, :, :])
                T.copy(W[0, 0], raw_weight)
                T.tile.cast(work[0:1, :], raw_weight)
                T.tile.broadcast(weight, work[0:1, :], axis=0)
                T.tile.fill(ones, 1.0)
                for i in T.serial(mine):
                    slot = i % slots
                    row = (lane + i * lanes) * rows
                    if i + 1 < mine:
                        T.copy(X[row + lanes * rows, 0], raw[(i + 1) % slots, :, :])
                    T.tile.cast(x, raw[slot, :, :])
                    T.tile.mul(work, x, x)
                    T.reduce_sum(work, scale, dim=-1)
                    T.tile.mul(scale, scale, 1.0 / N)
                    T.tile.add(scale, scale, eps)
                    T.tile.sqrt(scale, scale)
                    T.tile.div(scale, ones, scale)
                    T.tile.row_expand_mul(x, x, scale)
                    T.tile.mul(x, x, weight)
                    T.tile.cast(done[slot, :, :], x, "CAST_RINT")
                    T.copy(done[slot, :, :], Y[row, 0])

    return norm


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows, cores in ((2048, 1024, 8, 24), (333, 1001, 8, 7)):
        x, w = torch.randn(M, N).half(), torch.randn(1, N).half()
        wide = x.float()
        expected = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6) * w.float()
        run_and_report(
            f"rms norm {M}x{N} float16",
            lambda M=M, N=N, rows=rows, cores=cores: rms_norm(M, N, rows, cores),
            [x, w],
            expected,
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
