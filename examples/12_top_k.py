"""Attention to the best few: the K largest scores of a query choose and weigh rows of a table.

`T.tile.topk` gives pairs of value and index, `T.tile.gather_mask` takes them apart, the scalar unit
reads the indices and has the rows fetched. Scores of the next query are asked for before this one
is sorted. All without a flag: vector, scalar and load units wait for each other automatically.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[2], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def top_k(queries: int, N: int, K: int, D: int, cores: int, dtype: str = "float32") -> T.PrimFunc:
    lanes = 2 * cores
    width = T.cdiv(N, 32) * 32  # sorting works on groups of 32
    slots = 2

    @T.prim_func
    def attend(
        Score: T.Tensor((queries, N), dtype),
        Table: T.Tensor((N, D), dtype),
        Y: T.Tensor((queries, D), dtype),
    ) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            score = T.alloc_ub((slots, 1, width), dtype)
            rows = T.alloc_ub((slots, K, D), dtype)
            done = T.alloc_ub((slots, D), dtype)
            pairs = T.alloc_ub((2 * K,), dtype)
            value = T.alloc_ub((1, K), dtype)
            place = T.alloc_ub((K,), dtype)
            index = T.alloc_ub((K,), "int32")
            total = T.alloc_ub((1,), dtype)
            with T.Scope("V"):
                lane = cid * 2 + vid
                mine = T.ceildiv(queries - lane, lanes)
                if mine > 0:
                    T.copy(Score[lane, 0], score[0, :, :])
                for i in T.serial(mine):
                    slot = i % slots
                    query = lane + i * lanes
                    if i + 1 < mine:
                        T.copy(Score[query + lanes, 0], score[(i + 1) % slots, :, :])
                    T.tile.topk(pairs, score[slot, 0, :], K, N)
                    T.tile.gather_mask(place, pairs, "P1010")
                    T.tile.cast(index, place, "CAST_RINT")
                    for k in T.serial(K):
                        T.copy(Table[index[k], 0], rows[slot, k, :])
                    # Softmax of the values, which stand in order.
                    T.tile.gather_mask(value[0, :], pairs, "P0101")
                    largest = value[0, 0]
                    T.tile.sub(value, value, largest)
                    T.tile.exp(value, value)
                    T.reduce_sum(value, total, dim=-1)
                    T.tile.div(value, value, total[0])
                    T.tile.row_expand_mul(rows[slot, :, :], rows[slot, :, :], value[0, :])
                    T.reduce_sum(rows[slot, :, :], done[slot, :], dim=0)
                    T.copy(done[slot, :], Y[query, 0])

    return attend


def main() -> None:
    torch.manual_seed(0)
    for queries, N, K, D, cores in ((512, 1024, 16, 128, 24), (99, 1000, 8, 64, 5)):
        score, table = torch.randn(queries, N) * 2, torch.randn(N, D)
        value, index = score.topk(K, dim=-1)
        run_and_report(
            f"top {K} of {queries}x{N} float32",
            lambda queries=queries, N=N, K=K, D=D, cores=cores: top_k(queries, N, K, D, cores),
            [score, table],
            (torch.softmax(value, dim=-1).unsqueeze(-1) * table[index]).sum(1),
            tolerance=1e-5,
        )


if __name__ == "__main__":
    main()
