"""Attention over a sequence that is dealt out to devices: queries stay, keys and values go round.

Each rank hands the keys and values it has to its right before it uses them itself, so that they
travel meanwhile. There are two places for them, used in turn; a rank writes the right one's next
place when it has heard that nobody reads there any more. Under a causal mask ranks skip keys that
come later, and hand them on all the same. Words count turns over all calls.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks


@T.macro
def hide(s, n, rows, diagonal):
    """Hides what is no key, and on the diagonal the keys after each query."""
    for i, j in T.Parallel(rows, rows):
        s[i, j] = T.if_then_else(j < n, s[i, j], -1e30)
    if diagonal:
        for i, j in T.Parallel(rows, rows):
            s[i, j] = T.if_then_else(j > i, -1e30, s[i, j])


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def ring_attention(
    heads: int, n: int, D: int, causal: bool = False, dtype: str = "float16",
    accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    rows = T.ceildiv(n, 16) * 16
    scale = 1.0 / math.sqrt(D)

    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, n, D), dtype),
        K: T.Tensor((heads, n, D), dtype),
        V: T.Tensor((heads, n, D), dtype),
        keys: T.SymmTensor((2, heads, n, D), dtype),
        values: T.SymmTensor((2, heads, n, D), dtype),
        arrived: T.Signals(heads),
        used: T.Signals(heads),
        Output: T.Tensor((heads, n, D), dtype),
        step: T.int32,
    ) -> None:
        with T.Kernel(heads, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((rows, D), dtype)
            k = T.alloc_shared((rows, D), dtype)
            v = T.alloc_shared((rows, D), dtype)
            weights = T.alloc_shared((rows, rows), dtype)
            scores = T.alloc_fragment((rows, rows), accum)
            product = T.alloc_fragment((rows, D), accum)
            s = T.alloc_shared((rows, rows), accum)
            p = T.alloc_shared((rows, rows), dtype)
            part = T.alloc_shared((rows, D), accum)
            o = T.alloc_shared((rows, D), accum)
            out = T.alloc_shared((rows, D), dtype)
            before = T.alloc_shared((rows,), accum)
            peak = T.alloc_shared((rows,), accum)
            fresh = T.alloc_shared((rows,), accum)
            total = T.alloc_shared((rows,), accum)
            with T.Scale("device") as (r, num):
                first = (step - 1) * num
                T.copy(Q[cid, 0, 0], q)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, -1e30)
                T.tile.fill(o, 0.0)
                for t in T.serial(num):
                    turn = first + t
                    source = (r + num - t) % num
                    if t > 0:
                        T.wait_ge(arrived[cid], turn)
                    if t < num - 1:
                        T.wait_ge(used[cid], turn)
                        there = (turn + 1) % 2
                        right = (r + 1) % num
                        if t == 0:
                            T.put(K[cid, :, :], keys[there, cid, :, :], right)
                            T.put(V[cid, :, :], values[there, cid, :, :], right)
                        else:
                            T.put(keys[turn % 2, cid, :, :], keys[there, cid, :, :], right)
                            T.put(values[turn % 2, cid, :, :], values[there, cid, :, :], right)
                        T.quiet()
                        T.signal(arrived[cid], turn + 1, right)
                    if not causal or source <= r:
                        if t == 0:
                            T.copy(K[cid, 0, 0], k)
                            T.copy(V[cid, 0, 0], v)
                        else:
                            T.copy(keys[turn % 2, cid, 0, 0], k)
                            T.copy(values[turn % 2, cid, 0, 0], v)
                        T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                        T.copy(scores, s)
                        hide(s, n, rows, causal and source == r)
                        T.copy(peak, before)
                        T.reduce_max(s, peak, dim=-1)
                        for i in T.Parallel(rows):
                            peak[i] = T.max(peak[i], before[i])
                        for i, j in T.Parallel(rows, rows):
                            s[i, j] = T.exp((s[i, j] - peak[i]) * scale)
                        for i in T.Parallel(rows):
                            before[i] = T.exp((before[i] - peak[i]) * scale)
                        T.reduce_sum(s, fresh, dim=-1)
                        for i in T.Parallel(rows):
                            total[i] = total[i] * before[i] + fresh[i]
                        T.copy(s, p)
                        T.copy(p, weights)
                        T.gemm_v0(weights, v, product, init=True)
                        T.copy(product, part)
                        for i, j in T.Parallel(rows, D):
                            o[i, j] = o[i, j] * before[i] + part[i, j]
                    T.signal(used[cid], turn + 1, (r + num - 1) % num)
                for i, j in T.Parallel(rows, D):
                    o[i, j] = o[i, j] / total[i]
                T.copy(o, out)
                T.copy(out, Output[cid, 0, 0])

    return kernel


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """The same on one device, for tensors that are stacked by rank."""
    whole = [x.float().transpose(0, 1).flatten(1, 2) for x in (q, k, v)]
    found = torch.nn.functional.scaled_dot_product_attention(*whole, is_causal=causal)
    return found.unflatten(1, (q.shape[0], q.shape[2])).transpose(0, 1)


def main() -> None:
    torch.manual_seed(0)
    for ranks, n, causal in ((1, 32, False), (3, 50, False), (3, 50, True), (4, 16, True)):
        q, k, v = (torch.randn(ranks, 2, n, 64).half() for _ in range(3))
        output = [torch.zeros(2, n, 64).half() for _ in range(ranks)]
        with Ranks(ranks) as world:
            keys, values = (world.zeros((2, 2, n, 64), torch.float16) for _ in range(2))
            arrived, used = world.signals(2), world.signals(2)
            for step in (1, 2):
                world.launch(
                    ring_attention(2, n, 64, causal), list(q), list(k), list(v), keys, values,
                    arrived, used, output, step,
                )  # fmt: skip
        title = f"{'causal ' if causal else ''}attention, {n} queries a rank"
        report_ranks(title, output, list(attention(q, k, v, causal)), tolerance=4e-3)


if __name__ == "__main__":
    main()
