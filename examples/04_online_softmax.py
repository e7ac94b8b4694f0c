"""Row softmax in two passes over the columns: a running maximum and sum, then the quotients.

Any shape: tiles that hang over an edge are padded with -inf on the way in and cut on the way out.
Half and bfloat16 are computed in float.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1])
def online_softmax(M: int, N: int, rows: int, block_N: int, dtype: str) -> T.PrimFunc:
    blocks = T.cdiv(M, 2 * rows)
    steps = T.cdiv(N, block_N)
    accum = "float32"

    @T.macro
    def load_tile(X: T.Tensor, raw: T.Tensor, x: T.Tensor, row: int, column: int) -> None:
        if dtype == accum:
            T.copy(X[row, column], x, pad_value=-T.infinity(accum))
            T.barrier_all()
        else:
            T.copy(X[row, column], raw, pad_value=-T.infinity(dtype))
            T.barrier_all()
            T.tile.cast(x, raw, "CAST_NONE", rows * block_N)
            T.pipe_barrier("v")

    @T.macro
    def exp_of_difference(x: T.Tensor, wide: T.Tensor, peak: T.Tensor) -> None:
        T.tile.broadcast(wide, peak, axis=1)
        T.pipe_barrier("v")
        T.tile.sub(x, x, wide)
        T.pipe_barrier("v")
        T.tile.exp(x, x)
        T.pipe_barrier("v")

    @T.prim_func
    def softmax(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(blocks, is_npu=True) as (cid, vid):
            raw = T.alloc_ub((rows, block_N), dtype)
            x = T.alloc_ub((rows, block_N), accum)
            wide = T.alloc_ub((rows, block_N), accum)
            peak = T.alloc_ub((rows,), accum)
            new_peak = T.alloc_ub((rows,), accum)
            total = T.alloc_ub((rows,), accum)
            part = T.alloc_ub((rows,), accum)
            with T.Scope("V"):
                row = (cid * 2 + vid) * rows
                # The lowest float, not -inf: the difference of two -inf is NaN.
                T.tile.fill(peak, -3.0e38)
                T.tile.fill(total, 0.0)
                for step in T.serial(steps):
                    load_tile(X, raw, x, row, step * block_N)
                    T.reduce_max(x, new_peak, dim=-1)
                    T.pipe_barrier("v")
                    T.tile.max(new_peak, new_peak, peak)
                    T.pipe_barrier("v")
                    exp_of_difference(x, wide, new_peak)
                    T.reduce_sum(x, part, dim=-1)
                    # What was summed under the old maximum shrinks by e ** (old - new).
                    T.tile.sub(peak, peak, new_peak)
                    T.pipe_barrier("v")
                    T.tile.exp(peak, peak)
                    T.pipe_barrier("v")
                    T.tile.mul(total, total, peak)
                    T.pipe_barrier("v")
                    T.tile.add(total, total, part)
                    T.copy(new_peak, peak)
                    T.barrier_all()
                for step in T.serial(steps):
                    load_tile(X, raw, x, row, step * block_N)
                    exp_of_difference(x, wide, peak)
                    T.tile.broadcast(wide, total, axis=1)
                    T.pipe_barrier("v")
                    T.tile.div(x, x, wide)
                    if dtype == accum:
                        T.barrier_all()
                        T.copy(x, Y[row, step * block_N])
                    else:
                        T.pipe_barrier("v")
                        T.tile.cast(raw, x, "CAST_RINT", rows * block_N)
                        T.barrier_all()
                        T.copy(raw, Y[row, step * block_N])
                    T.barrier_all()

    return softmax


def main() -> None:
    torch.manual_seed(0)
    # Float: e ** (x - max) is off by the rounding of the difference, about an ulp of the largest x.
    tolerances = {"float32": 4e-6, "float16": 1e-3, "bfloat16": 8e-3}
    for M, N, rows, block_N in ((34, 130, 16, 64), (1024, 4096, 16, 512)):
        for dtype, tolerance in tolerances.items():
            x = torch.randn(M, N).to(getattr(torch, dtype)) * 3
            run_and_report(
                f"online softmax {M}x{N} {dtype}",
                lambda M=M, N=N, rows=rows, block_N=block_N, dtype=dtype: online_softmax(
                    M, N, rows, block_N, dtype
                ),
                [x],
                torch.softmax(x.float(), dim=-1),
                tolerance,
            )


if __name__ == "__main__":
    main()
