"""Flash attention in expert style: cube and vector cores work on one query tile together.

Scores, probabilities and partial outputs pass through workspaces in global memory; cross-core flags
say when they may be read. Both vector cores of a block take half of the query rows each.
"""

import math

import torch
from report import run_and_report

import tile_frontend as T

SCORES_READY, PROBABILITIES_READY, OUTPUT_READY = 0, 1, 2


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

    @T.prim_func
    def attention(
        Q: T.Tensor((B, H, S, D), dtype),
        K: T.Tensor((B, H, S, D), dtype),
        V: T.Tensor((B, H, S, D), dtype),
        Output: T.Tensor((B, H, S, D), dtype),
        scores: T.Tensor((blocks, block_M, block_N), accum),
        probabilities: T.Tensor((blocks, block_M, block_N), dtype),
        partial: T.Tensor((blocks, block_M, D), accum),
    ) -> None:
        with T.Kernel(blocks, is_npu=True) as (cid, vid):
            first = cid % query_tiles * block_M
            head = cid // query_tiles % H
            batch = cid // query_tiles // H

            q_l1 = T.alloc_L1((block_M, D), dtype)
            k_l1 = T.alloc_L1((block_N, D), dtype)
            v_l1 = T.alloc_L1((block_N, D), dtype)
            p_l1 = T.alloc_L1((block_M, block_N), dtype)
            s_l0 = T.alloc_L0C((block_M, block_N), accum)
            o_l0 = T.alloc_L0C((block_M, D), accum)

            s = T.alloc_ub((rows, block_N), accum)
            wide_s = T.alloc_ub((rows, block_N), accum)
            p = T.alloc_ub((rows, block_N), dtype)
            o = T.alloc_ub((rows, D), accum)
            part = T.alloc_ub((rows, D), accum)
            wide_o = T.alloc_ub((rows, D), accum)
            out = T.alloc_ub((rows, D), dtype)
            peak = T.alloc_ub((rows,), accum)
            new_peak = T.alloc_ub((rows,), accum)
            shrink = T.alloc_ub((rows,), accum)
            total = T.alloc_ub((rows,), accum)
            row_sum = T.alloc_ub((rows,), accum)

            with T.Scope("C"):
                T.copy(Q[batch, head, first : first + block_M, :], q_l1)
                for n in T.serial(steps):
                    T.copy(K[batch, head, n * block_N : (n + 1) * block_N, :], k_l1)
                    T.barrier_all()
                    T.gemm_v0(q_l1, k_l1, s_l0, transpose_B=True, init=True)
                    T.barrier_all()
                    T.copy(s_l0, scores[cid, :, :])
                    T.barrier_all()
                    T.set_cross_flag("fix", SCORES_READY)

                    T.copy(V[batch, head, n * block_N : (n + 1) * block_N, :], v_l1)
                    T.wait_cross_flag(PROBABILITIES_READY)
                    T.copy(probabilities[cid, :, :], p_l1)
                    T.barrier_all()
                    T.gemm_v0(p_l1, v_l1, o_l0, init=True)
                    T.barrier_all()
                    T.copy(o_l0, partial[cid, :, :])
                    T.barrier_all()
                    T.set_cross_flag("fix", OUTPUT_READY)

            with T.Scope("V"):
                mine = vid * rows
                T.tile.fill(o, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, -3.0e38)
                T.pipe_barrier("v")
                for _ in T.serial(steps):
                    T.wait_cross_flag(SCORES_READY)
                    T.copy(scores[cid, mine : mine + rows, :], s)
                    T.barrier_all()
                    T.tile.mul(s, s, scale)
                    T.pipe_barrier("v")
                    T.reduce_max(s, new_peak, dim=-1)
                    T.pipe_barrier("v")
                    T.tile.max(new_peak, new_peak, peak)
                    T.pipe_barrier("v")
                    T.tile.sub(shrink, peak, new_peak)
                    T.tile.broadcast(wide_s, new_peak, axis=1)
                    T.pipe_barrier("v")
                    T.tile.exp(shrink, shrink)
                    T.tile.sub(s, s, wide_s)
                    T.pipe_barrier("v")
                    T.tile.exp(s, s)
                    T.pipe_barrier("v")
                    T.tile.cast(p, s, "CAST_RINT", rows * block_N)
                    T.barrier_all()
                    T.copy(p, probabilities[cid, mine : mine + rows, :])
                    T.barrier_all()
                    T.set_cross_flag("mte3", PROBABILITIES_READY)

                    T.reduce_sum(s, row_sum, dim=-1)
                    T.tile.mul(total, total, shrink)
                    T.tile.broadcast(wide_o, shrink, axis=1)
                    T.copy(new_peak, peak)
                    T.pipe_barrier("v")
                    T.tile.add(total, total, row_sum)
                    T.tile.mul(o, o, wide_o)
                    T.wait_cross_flag(OUTPUT_READY)
                    T.copy(partial[cid, mine : mine + rows, :], part)
                    T.barrier_all()
                    T.tile.add(o, o, part)
                    T.barrier_all()
                T.tile.broadcast(wide_o, total, axis=1)
                T.pipe_barrier("v")
                T.tile.div(o, o, wide_o)
                T.pipe_barrier("v")
                T.tile.cast(out, o, "CAST_RINT", rows * D)
                T.barrier_all()
                T.copy(out, Output[batch, head, first + mine : first + mine + rows, :])

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
