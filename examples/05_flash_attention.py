"""Flash attention in expert style: cube and vector cores work on one query tile together.

Scores, probabilities and partial outputs pass through workspaces in global memory; cross-core flags
say when they may be read. Both vector cores of a block take half of the query rows each.

The cube core makes the scores of round n before the output of round n - 2, and the vector cores
weigh the scores of round n before they add that output, so neither waits for what the other has
just begun. Three rounds are under way, so every workspace has three slots, and no flag gives one
back: the probabilities of round n tell the cube core that the scores of round n and the output of
n - 3 have been read, and the scores of round n tell the vector cores so of the probabilities of
n - 3. Buffers in l1 and ub have two slots, with a flag each way.
"""

import math

import torch
from report import run_and_report

import tile_frontend as T

# Flags between the cores.
SCORES_READY, PROBABILITIES_READY, OUTPUT_READY = 0, 1, 2
# Flags between the pipes of the cube core: two slots of K, two of P and V; both accumulators.
K_SLOT, PV_SLOT = 0, 2
SCORES, PARTIAL = 0, 1
# Flags between the pipes of a vector core: two slots of scores, two of probabilities.
S_SLOT, PART = 0, 2
P_SLOT, OUT = 0, 2


@T.jit(out_idx=[3], workspace_idx=[4, 5, 6])
def flash_attention(
    B: int, H: int, S: int, D: int, block_M: int, block_N: int, dtype: str = "float16",
    accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    query_tiles = T.cdiv(S, block_M)
    blocks = B * H * query_tiles
    steps = T.cdiv(S, block_N)
    rows = block_M // 2
    scale = 1.0 / math.sqrt(D)
    slots = 2
    ahead = 2
    rounds = ahead + 1  # under way at a time

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H, S, D), dtype),
        V: T.Tensor((B, H, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
        scores: T.Tensor((blocks, rounds, block_M, block_N), accum),
        probabilities: T.Tensor((blocks, rounds, block_M, block_N), dtype),
        partial: T.Tensor((blocks, rounds, block_M, D), accum),
    ) -> None:
        with T.Kernel(blocks, is_npu=True) as (cid, vid):
            first = cid % query_tiles * block_M
            head = cid // query_tiles % H
            batch = cid // query_tiles // H

            q_l1 = T.alloc_L1((block_M, D), dtype)
            k_l1 = T.alloc_L1((slots, block_N, D), dtype)
            v_l1 = T.alloc_L1((slots, block_N, D), dtype)
            p_l1 = T.alloc_L1((slots, block_M, block_N), dtype)
            s_l0 = T.alloc_L0C((block_M, block_N), accum)
            o_l0 = T.alloc_L0C((block_M, D), accum)

            s = T.alloc_ub((slots, rows, block_N), accum)
            p = T.alloc_ub((slots, rows, block_N), dtype)
            o = T.alloc_ub((rows, D), accum)
            part = T.alloc_ub((rows, D), accum)
            out = T.alloc_ub((rows, D), dtype)
            peak = T.alloc_ub((slots, rows), accum)
            shrink = T.alloc_ub((rounds, rows), accum)
            total = T.alloc_ub((rows,), accum)
            row_sum = T.alloc_ub((rows,), accum)

            with T.Scope("C"):
                for i in T.serial(slots):  # every buffer starts free
                    T.set_flag("mte1", "mte2", K_SLOT + i)
                    T.set_flag("mte1", "mte2", PV_SLOT + i)
                T.set_flag("m", "mte1", 0)
                T.set_flag("fix", "m", SCORES)
                T.set_flag("fix", "m", PARTIAL)

                T.copy(Q[batch, head, first : first + block_M, :], q_l1)
                for n in T.serial(steps + ahead):
                    if n < steps:
                        slot, place = n % slots, n % rounds
                        T.wait_flag("mte1", "mte2", K_SLOT + slot)
                        T.copy(K[batch, head, n * block_N : (n + 1) * block_N, :], k_l1[slot, :, :])
                        T.set_flag("mte2", "mte1", K_SLOT + slot)

                        T.wait_flag("mte2", "mte1", K_SLOT + slot)
                        T.wait_flag("m", "mte1", 0)  # the last product has read l0a and l0b
                        T.wait_flag("fix", "m", SCORES)
                        T.gemm_v0(q_l1, k_l1[slot, :, :], s_l0, transpose_B=True, init=True)
                        T.set_flag("mte1", "mte2", K_SLOT + slot)
                        T.set_flag("m", "mte1", 0)
                        T.set_flag("m", "fix", SCORES)

                        T.wait_flag("m", "fix", SCORES)
                        T.copy(s_l0, scores[cid, place, :, :])
                        T.set_flag("fix", "m", SCORES)
                        T.set_cross_flag("fix", SCORES_READY)
                    if n >= ahead:
                        side, place = n % slots, (n - ahead) % rounds
                        keys = (n - ahead) * block_N
                        T.wait_flag("mte1", "mte2", PV_SLOT + side)
                        T.copy(V[batch, head, keys : keys + block_N, :], v_l1[side, :, :])
                        T.wait_cross_flag(PROBABILITIES_READY)
                        T.copy(probabilities[cid, place, :, :], p_l1[side, :, :])
                        T.set_flag("mte2", "mte1", PV_SLOT + side)

                        T.wait_flag("mte2", "mte1", PV_SLOT + side)
                        T.wait_flag("m", "mte1", 0)
                        T.wait_flag("fix", "m", PARTIAL)
                        T.gemm_v0(p_l1[side, :, :], v_l1[side, :, :], o_l0, init=True)
                        T.set_flag("mte1", "mte2", PV_SLOT + side)
                        T.set_flag("m", "mte1", 0)
                        T.set_flag("m", "fix", PARTIAL)

                        T.wait_flag("m", "fix", PARTIAL)
                        T.copy(o_l0, partial[cid, place, :, :])
                        T.set_flag("fix", "m", PARTIAL)
                        T.set_cross_flag("fix", OUTPUT_READY)

                for i in T.serial(slots):  # take back what is still set
                    T.wait_flag("mte1", "mte2", K_SLOT + i)
                    T.wait_flag("mte1", "mte2", PV_SLOT + i)
                T.wait_flag("m", "mte1", 0)
                T.wait_flag("fix", "m", SCORES)
                T.wait_flag("fix", "m", PARTIAL)

            with T.Scope("V"):
                mine = vid * rows
                for i in T.serial(slots):  # every buffer starts free
                    T.set_flag("v", "mte2", S_SLOT + i)
                    T.set_flag("mte3", "v", P_SLOT + i)
                T.set_flag("v", "mte2", PART)

                T.tile.fill(o, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, -3.0e38)
                for n in T.serial(steps + ahead):
                    if n < steps:
                        slot, place = n % slots, n % rounds
                        before = (n + 1) % slots
                        T.wait_cross_flag(SCORES_READY)
                        T.wait_flag("v", "mte2", S_SLOT + slot)
                        T.copy(scores[cid, place, mine : mine + rows, :], s[slot, :, :])
                        T.set_flag("mte2", "v", S_SLOT + slot)

                        T.wait_flag("mte2", "v", S_SLOT + slot)
                        T.tile.mul(s[slot, :, :], s[slot, :, :], scale)
                        T.pipe_barrier("v")
                        T.reduce_max(s[slot, :, :], peak[slot, :], dim=-1)
                        T.pipe_barrier("v")
                        T.tile.max(peak[slot, :], peak[slot, :], peak[before, :])
                        T.pipe_barrier("v")
                        T.tile.sub(shrink[place, :], peak[before, :], peak[slot, :])
                        T.tile.row_expand_sub(s[slot, :, :], s[slot, :, :], peak[slot, :])
                        T.pipe_barrier("v")
                        T.tile.exp(shrink[place, :], shrink[place, :])
                        T.tile.exp(s[slot, :, :], s[slot, :, :])
                        T.pipe_barrier("v")
                        T.wait_flag("mte3", "v", P_SLOT + slot)
                        T.tile.cast(p[slot, :, :], s[slot, :, :], "CAST_RINT", rows * block_N)
                        T.set_flag("v", "mte3", P_SLOT + slot)

                        T.wait_flag("v", "mte3", P_SLOT + slot)
                        T.copy(p[slot, :, :], probabilities[cid, place, mine : mine + rows, :])
                        T.set_flag("mte3", "v", P_SLOT + slot)
                        T.set_cross_flag("mte3", PROBABILITIES_READY)

                        T.reduce_sum(s[slot, :, :], row_sum, dim=-1)
                        T.set_flag("v", "mte2", S_SLOT + slot)
                        T.tile.mul(total, total, shrink[place, :])
                        T.pipe_barrier("v")
                        T.tile.add(total, total, row_sum)
                    if n >= ahead:
                        place = (n - ahead) % rounds
                        T.wait_cross_flag(OUTPUT_READY)
                        T.wait_flag("v", "mte2", PART)
                        T.copy(partial[cid, place, mine : mine + rows, :], part)
                        T.set_flag("mte2", "v", PART)

                        T.tile.row_expand_mul(o, o, shrink[place, :])
                        T.pipe_barrier("v")
                        T.wait_flag("mte2", "v", PART)
                        T.tile.add(o, o, part)
                        T.set_flag("v", "mte2", PART)
                        T.pipe_barrier("v")
                T.tile.row_expand_div(o, o, total)
                T.pipe_barrier("v")
                T.tile.cast(out, o, "CAST_RINT", rows * D)
                T.set_flag("v", "mte3", OUT)
                T.wait_flag("v", "mte3", OUT)
                T.copy(out, Output[batch, head, first + mine : first + mine + rows, :])

                for i in T.serial(slots):  # take back what is still set
                    T.wait_flag("v", "mte2", S_SLOT + i)
                    T.wait_flag("mte3", "v", P_SLOT + i)
                T.wait_flag("v", "mte2", PART)

    return attention


def main() -> None:
    torch.manual_seed(0)
    B, H, S, D = 1, 2, 512, 128
    q, k, v = (torch.randn(B, H, S, D).half() for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    run_and_report(
        f"flash attention B{B} H{H} S{S} D{D} float16",
        lambda: flash_attention(B, H, S, D, 64, 128),
        [q, k, v],
        expected,
        tolerance=2e-3,
    )


if __name__ == "__main__":
    main()
