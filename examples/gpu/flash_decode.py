"""Attention of one query a sequence as it is written for a GPU: blocks share the keys.

A block does the heads of one group of queries for a part of the keys; a second launch puts the
parts together by the logarithms of their sums.
"""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

LOG2_E = 1.44269504


@tilelang.jit(out_idx=[-1])
def flash_decode(batch, heads, groups, length, dim, splits=4, block_N=128, dtype="float16"):
    scale = dim**-0.5 * LOG2_E
    members = heads // groups
    part = length // splits

    @T.prim_func
    def kernel(
        Q: T.Tensor((batch, groups, members, dim), dtype),
        K: T.Tensor((batch, groups, length, dim), dtype),
        V: T.Tensor((batch, groups, length, dim), dtype),
        logs: T.Tensor((batch, groups, splits, members), "float32"),
        parts: T.Tensor((batch, groups, splits, members, dim), "float32"),
        O: T.Tensor((batch, groups, members, dim), dtype),  # noqa: E741
    ):
        with T.Kernel(splits, groups, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((members, dim), dtype)
            k = T.alloc_shared((block_N, dim), dtype)
            v = T.alloc_shared((block_N, dim), dtype)
            weights = T.alloc_shared((members, block_N), dtype)
            scores = T.alloc_fragment((members, block_N), "float32")
            out = T.alloc_fragment((members, dim), "float32")
            most = T.alloc_fragment((members,), "float32")
            before = T.alloc_fragment((members,), "float32")
            added = T.alloc_fragment((members,), "float32")
            total = T.alloc_fragment((members,), "float32")
            T.copy(Q[bz, by, :, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            for n in T.Pipelined(part // block_N, num_stages=2):
                start = bx * part + n * block_N
                T.copy(K[bz, by, start : start + block_N, :], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(V[bz, by, start : start + block_N, :], v)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i, j in T.Parallel(members, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - most[i]) * scale)
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(members):
                    before[i] = T.exp2((before[i] - most[i]) * scale)
                    total[i] = total[i] * before[i] + added[i]
                for i, j in T.Parallel(members, dim):
                    out[i, j] *= before[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(members, dim):
                out[i, j] /= total[i]
            for i in T.Parallel(members):
                total[i] = T.log2(total[i]) + most[i] * scale
            T.copy(total, logs[bz, by, bx, :])
            T.copy(out, parts[bz, by, bx, :, :])

        with T.Kernel(groups, batch, threads=128) as (by, bz):
            log = T.alloc_fragment((splits, members), "float32")
            most = T.alloc_fragment((members,), "float32")
            total = T.alloc_fragment((members,), "float32")
            one = T.alloc_fragment((members, dim), "float32")
            whole = T.alloc_fragment((members, dim), "float32")
            T.copy(logs[bz, by, :, :], log)
            T.reduce_max(log, most, dim=0)
            for s, i in T.Parallel(splits, members):
                log[s, i] = T.exp2(log[s, i] - most[i])
            T.reduce_sum(log, total, dim=0)
            T.clear(whole)
            for s in T.serial(splits):
                T.copy(parts[bz, by, s, :, :], one)
                for i, j in T.Parallel(members, dim):
                    whole[i, j] += one[i, j] * (log[s, i] / total[i])
            T.copy(whole, O[bz, by, :, :])

    return kernel


def _decoded(kernel, q, k, v):
    batch, groups, members, dim = q.shape
    logs = torch.empty(batch, groups, 4, members, device="cuda")
    parts = torch.empty(batch, groups, 4, members, dim, device="cuda")
    return kernel(q, k, v, logs, parts)


def main():
    torch.manual_seed(0)
    q = torch.randn(1, 2, 16, 128, device="cuda").half()
    k, v = (torch.randn(1, 2, 1024, 128, device="cuda").half() for _ in range(2))
    run_and_report(
        "flash decode 1x32 heads, 16 a key, 1024x128 float16",
        lambda: flash_decode(1, 32, 2, 1024, 128),
        [q, k, v],
        torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float()),
        tolerance=2e-3,
        call=_decoded,
    )


if __name__ == "__main__":
    main()
