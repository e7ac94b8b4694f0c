"""Cross entropy of rows of logits: log(sum(exp(x))) - x[label], in one pass over the columns.

A running maximum and sum as in 04_online_softmax.py, but no flag and no barrier: automatic
synchronisation orders the pipes. All tiles of a core are one loop, so that none waits for the last
of other rows, and each is asked for before the one before it is summed up. Behind the first tile
of some rows the scalar unit asks for one logit of each, by labels that it asked for that long ago.
Half and bfloat16 are computed in float. What is done with one number a row stands beside what is
done with the tile, where both wait for the same barriers.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[2], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def cross_entropy(
    M: int, N: int, rows: int, block_N: int, cores: int, dtype: str = "float16"
) -> T.PrimFunc:
    tiles = T.cdiv(M, rows)
    steps = T.cdiv(N, block_N)
    lanes = 2 * cores
    slots = 2
    accum = "float32"
    word = 16  # elements of a 32-byte block

    @T.prim_func
    def loss(
        X: T.Tensor((M, N), dtype),
        Label: T.Tensor((M,), "int32"),
        Loss: T.Tensor((M,), accum),
    ) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            raw = T.alloc_ub((slots, rows, block_N), dtype)
            x = T.alloc_ub((rows, block_N), accum)
            label = T.alloc_ub((slots, rows), "int32")
            raw_chosen = T.alloc_ub((slots, rows, word), dtype)
            wide_chosen = T.alloc_ub((rows, word), accum)
            chosen = T.alloc_ub((rows,), accum)
            peak = T.alloc_ub((rows,), accum)
            new_peak = T.alloc_ub((rows,), accum)
            total = T.alloc_ub((rows,), accum)
            part = T.alloc_ub((rows,), accum)
            with T.Scope("V"):
                lane = cid * 2 + vid
                mine = T.ceildiv(tiles - lane, lanes)
                if mine > 0:
                    T.copy(Label[lane * rows], label[0, :])
                    T.copy(X[lane * rows, 0], raw[0, :, :], pad_value=-T.infinity(dtype))
                for load in T.serial(mine * steps):
                    i, step, slot = load // steps, load % steps, load % slots
                    row = (lane + i * lanes) * rows
                    if load + 1 < mine * steps:
                        next_row = (lane + (load + 1) // steps * lanes) * rows
                        T.copy(
                            X[next_row, (load + 1) % steps * block_N],
                            raw[(load + 1) % slots, :, :],
                            pad_value=-T.infinity(dtype),
                        )
                    if step == 0:
                        # The lowest float, not -inf: the difference of two -inf is NaN.
                        T.tile.fill(new_peak, -3.0e38)
                        T.tile.fill(total, 0.0)
                        T.tile.fill(part, 0.0)
                    wide = raw[slot, :, :] if dtype == accum else x
                    if dtype != accum:
                        T.tile.cast(x, raw[slot, :, :])
                    T.tile.add(total, total, part)
                    T.copy(new_peak, peak)
                    T.reduce_max(wide, new_peak, dim=-1)
                    T.tile.max(new_peak, new_peak, peak)
                    # What was summed under the old maximum shrinks by e ** (old - new).
                    T.tile.sub(peak, peak, new_peak)
                    T.tile.row_expand_sub(x, wide, new_peak)
                    T.tile.exp(peak, peak)
                    T.tile.exp(x, x)
                    T.tile.mul(total, total, peak)
                    T.reduce_sum(x, part, dim=-1)
                    if step == 0:
                        for r in T.serial(rows):
                            column = label[i % slots, r]
                            T.copy(X[row + r, column : column + 1], raw_chosen[i % slots, r, 0:1])
                        if i + 1 < mine:
                            T.copy(Label[row + lanes * rows], label[(i + 1) % slots, :])
                    if step == steps - 1:
                        T.tile.add(total, total, part)
                        if dtype != accum:
                            T.tile.cast(wide_chosen[:, 0:1], raw_chosen[i % slots, :, 0:1])
                        T.tile.ln(total, total)
                        if dtype == accum:
                            T.reduce_sum(raw_chosen[i % slots, :, 0:1], chosen, dim=-1)
                        else:
                            T.reduce_sum(wide_chosen[:, 0:1], chosen, dim=-1)
                        T.tile.add(total, total, new_peak)
                        T.tile.sub(chosen, total, chosen)
                        T.copy(chosen, Loss[row])

    return loss


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows, block_N, cores, dtype in (
        (512, 4096, 32, 512, 8, "float16"),
        (203, 5003, 16, 512, 5, "float32"),
    ):
        x = (torch.randn(M, N) * 2).to(getattr(torch, dtype))
        label = torch.randint(0, N, (M,), dtype=torch.int32)
        run_and_report(
            f"cross entropy {M}x{N} {dtype}",
            lambda M=M, N=N, rows=rows, block_N=block_N, cores=cores, dtype=dtype: cross_entropy(
                M, N, rows, block_N, cores, dtype
            ),
            [x, label],
            torch.nn.functional.cross_entropy(x.float(), label.long(), reduction="none"),
            tolerance=1e-5,
        )


if __name__ == "__main__":
    main()
