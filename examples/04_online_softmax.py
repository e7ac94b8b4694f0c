"""Row softmax with a running maximum and sum, ordered by hand; a row that fits is read once.

A vector core takes each `lanes`-th tile of `rows` rows and goes over its columns, `block_N` at a
time. What the last columns become is still in ub when sum and maximum are known: those before them,
if there are any, are loaded once more. Two slots for loads and two for stores let the pipes work on
neighbouring tiles at once; a slot has a flag each way, "filled" and "free again".

Any shape: tiles that hang over an edge are padded with -inf on the way in and cut on the way out.
Half and bfloat16 are computed in float.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1])
def online_softmax(
    M: int, N: int, rows: int, block_N: int, dtype: str, cores: int = 24
) -> T.PrimFunc:
    steps = T.cdiv(N, block_N)
    tiles = T.cdiv(M, rows)
    lanes = 2 * cores
    slots = 2
    accum = "float32"

    @T.macro
    def load(X: T.Tensor, row: int, column: int, raw: T.Tensor, slot: int) -> None:
        T.wait_flag("v", "mte2", slot)
        T.copy(X[row, column], raw[slot, :, :], pad_value=-T.infinity(dtype))
        T.set_flag("mte2", "v", slot)
        T.wait_flag("mte2", "v", slot)

    @T.macro
    def exp_of_difference(x: T.Tensor, a: T.Tensor, peak: T.Tensor) -> None:
        T.tile.row_expand_sub(x, a, peak)
        T.pipe_barrier("v")
        T.tile.exp(x, x)
        T.pipe_barrier("v")

    @T.macro
    def store_quotients(
        x: T.Tensor, total: T.Tensor, done: T.Tensor, slot: int, Y: T.Tensor, row: int, column: int
    ) -> None:
        T.wait_flag("mte3", "v", slot)
        if dtype == accum:
            T.tile.row_expand_div(done[slot, :, :], x, total)
        else:
            T.tile.row_expand_div(x, x, total)
            T.pipe_barrier("v")
            T.tile.cast(done[slot, :, :], x, "CAST_RINT", rows * block_N)
        T.set_flag("v", "mte3", slot)
        T.pipe_barrier("v")  # what comes next writes x and total

        T.wait_flag("v", "mte3", slot)
        T.copy(done[slot, :, :], Y[row, column])
        T.set_flag("mte3", "v", slot)

    @T.prim_func
    def softmax(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            raw = T.alloc_ub((slots, rows, block_N), dtype)
            done = T.alloc_ub((slots, rows, block_N), dtype)
            x = T.alloc_ub((rows, block_N), accum)
            peak = T.alloc_ub((rows,), accum)
            new_peak = T.alloc_ub((rows,), accum)
            total = T.alloc_ub((rows,), accum)
            part = T.alloc_ub((rows,), accum)
            with T.Scope("V"):
                for s in T.serial(slots):  # every slot starts free
                    T.set_flag("v", "mte2", s)
                    T.set_flag("mte3", "v", s)

                lane = cid * 2 + vid
                for i in T.serial(T.ceildiv(tiles - lane, lanes)):
                    row = (lane + i * lanes) * rows
                    # The lowest float, not -inf: the difference of two -inf is NaN.
                    T.tile.fill(peak, -3.0e38)
                    T.tile.fill(total, 0.0)
                    for step in T.serial(steps):
                        slot = (i * (2 * steps - 1) + step) % slots
                        load(X, row, step * block_N, raw, slot)
                        if dtype == accum:
                            T.reduce_max(raw[slot, :, :], new_peak, dim=-1)
                        else:
                            T.tile.cast(x, raw[slot, :, :], "CAST_NONE", rows * block_N)
                            T.set_flag("v", "mte2", slot)
                            T.pipe_barrier("v")
                            T.reduce_max(x, new_peak, dim=-1)
                        T.pipe_barrier("v")
                        T.tile.max(new_peak, new_peak, peak)
                        T.pipe_barrier("v")
                        exp_of_difference(x, raw[slot, :, :] if dtype == accum else x, new_peak)
                        if dtype == accum:
                            T.set_flag("v", "mte2", slot)
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
                        T.pipe_barrier("v")
                    last = steps - 1
                    store_quotients(x, total, done, (i * steps) % slots, Y, row, last * block_N)
                    for step in T.serial(last):
                        slot = (i * (2 * steps - 1) + steps + step) % slots
                        load(X, row, step * block_N, raw, slot)
                        if dtype == accum:
                            exp_of_difference(x, raw[slot, :, :], peak)
                        else:
                            T.tile.cast(x, raw[slot, :, :], "CAST_NONE", rows * block_N)
                            T.pipe_barrier("v")
                            exp_of_difference(x, x, peak)
                        T.set_flag("v", "mte2", slot)
                        store_quotients(
                            x, total, done, (i * steps + 1 + step) % slots, Y, row, step * block_N
                        )

                for s in T.serial(slots):  # take back what is still set
                    T.wait_flag("v", "mte2", s)
                    T.wait_flag("mte3", "v", s)

    return softmax


def main() -> None:
    torch.manual_seed(0)
    # Float: e ** (x - max) is off by the rounding of the difference, about an ulp of the largest x.
    tolerances = {"float32": 4e-6, "float16": 1e-3, "bfloat16": 8e-3}
    for M, N, rows, block_N in ((34, 130, 16, 64), (1023, 4095, 2, 4096)):
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
