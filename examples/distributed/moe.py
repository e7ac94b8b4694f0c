"""Mixture of experts over devices: every token goes to the devices of its experts and comes back.

Ranks tell each other how many tokens they have for each expert, so that each knows where its rows
go: an expert's rows lie together, in the order of the ranks they come from. Rows for which there is
no room are an error before any is sent. Results come back in the order in which the rank counted
its tokens, and are added by weight. An expert here multiplies by a row of its own.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks

LINE = 16  # int32 of a cache line


@T.macro
def count_tokens(chosen, tally, counts, words, step, cid, blocks, tokens, top_k):
    """How many tokens of this rank each expert gets, to all ranks."""
    with T.Scale("device") as (r, num):
        T.tile.fill(tally, 0)
        for t, k in T.grid(tokens, top_k):
            tally[chosen[t, k]] = tally[chosen[t, k]] + 1
        for s in T.serial(num):
            to = (r + s) % num
            T.put_signal(tally, counts[r, cid, :], words[r * blocks + cid], step, to)
        for s in T.serial(num):
            T.wait_ge(words[s * blocks + cid], step)


@T.macro
def find_places(table, place, home, experts, local, room):
    """Where the rows of this rank begin at their experts, and among what comes back."""
    total = T.alloc_var("int32", init=0)
    back = T.alloc_var("int32", init=0)
    with T.Scale("device") as (r, num):
        for e in T.serial(experts):
            if e % local == 0:
                total = 0
            home[e] = back
            back = back + table[r, e]
            for s in T.serial(num):
                if s == r:
                    place[e] = total
                total = total + table[s, e]
            T.device_assert(total <= room, msg="a rank gets more tokens than it has room for")


@T.macro
def tell_all(words, step, cid, blocks):
    """All blocks of all ranks are as far as this one."""
    with T.Scale("device") as (r, num):
        T.quiet()
        for s in T.serial(num):
            T.signal(words[r * blocks + cid], step, (r + s) % num)
        for s in T.serial(num * blocks):
            T.wait_ge(words[s], step)


@T.macro
def add_by_weight(
    back, chosen, weights, home, y, row, total, cid, blocks, tokens, top_k, width
):  # fmt: skip
    """What came back for each token, added in the order of its choices."""
    for t in T.serial(tokens):
        T.tile.fill(total, 0.0)
        for k in T.serial(top_k):
            e = chosen[t, k]
            if t % blocks == cid:
                T.copy(back[home[e], :], row)
                weight = weights[t, k]
                for j in T.Parallel(width):
                    total[j] = total[j] + row[j] * weight
            home[e] = home[e] + 1
        if t % blocks == cid:
            T.copy(total, y[t, :])


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def moe(
    ranks: int, tokens: int, top_k: int, experts: int, width: int, room: int, blocks: int = 2
) -> T.PrimFunc:
    local = T.ceildiv(experts, ranks)
    line = T.ceildiv(experts, LINE) * LINE

    @T.prim_func
    def kernel(
        x: T.Tensor((tokens, width), "float32"),
        chosen: T.Tensor((tokens, top_k), "int32"),
        weights: T.Tensor((tokens, top_k), "float32"),
        scales: T.Tensor((experts, width), "float32"),
        counts: T.SymmTensor((ranks, blocks, line), "int32"),
        inbox: T.SymmTensor((room, width), "float32"),
        back: T.SymmTensor((tokens * top_k, width), "float32"),
        counted: T.Signals(ranks * blocks),
        arrived: T.Signals(ranks * blocks),
        returned: T.Signals(ranks * blocks),
        y: T.Tensor((tokens, width), "float32"),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks, threads=1) as cid:
            tally = T.alloc_shared((line,), "int32")
            table = T.alloc_shared((ranks, line), "int32")
            place = T.alloc_shared((line,), "int32")
            home = T.alloc_shared((line,), "int32")
            row = T.alloc_shared((width,), "float32")
            scale = T.alloc_shared((width,), "float32")
            total = T.alloc_shared((width,), "float32")
            slot = T.alloc_var("int32", init=0)
            first = T.alloc_var("int32", init=0)
            with T.Scale("device") as (r, num):
                count_tokens(chosen, tally, counts, counted, step, cid, blocks, tokens, top_k)
                T.copy(counts[:, cid, :], table)
                find_places(table, place, home, experts, local, room)

                for t, k in T.grid(tokens, top_k):
                    e = chosen[t, k]
                    if t % blocks == cid:
                        T.put(x[t, :], inbox[place[e], :], e // local)
                    place[e] = place[e] + 1
                tell_all(arrived, step, cid, blocks)

                for i in T.serial(T.max(T.min(local, experts - r * local), 0)):
                    e = r * local + i
                    T.copy(scales[e, :], scale)
                    for s in T.serial(num):
                        first = 0
                        for before in T.serial(e):
                            first = first + table[s, before]
                        for n in T.serial(table[s, e]):
                            if slot % blocks == cid:
                                T.copy(inbox[slot, :], row)
                                for j in T.Parallel(width):
                                    row[j] = row[j] * scale[j]
                                T.put(row, back[first + n, :], s)
                            slot = slot + 1
                tell_all(returned, step, cid, blocks)

                add_by_weight(
                    back, chosen, weights, home, y, row, total, cid, blocks, tokens, top_k, width
                )

    return kernel


def mixed(
    x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor, scales: torch.Tensor
) -> torch.Tensor:
    """The same on one device."""
    total = torch.zeros_like(x)
    for k in range(chosen.shape[-1]):
        total += x * scales[chosen[..., k].long()] * weights[..., k, None]
    return total


def main() -> None:
    torch.manual_seed(0)
    for ranks, tokens, experts, width in ((1, 8, 4, 64), (3, 13, 7, 40), (4, 10, 8, 100)):
        x, weights = torch.randn(ranks, tokens, width), torch.rand(ranks, tokens, 2)
        chosen = torch.rand(ranks, tokens, experts).topk(2).indices.int()
        scales, room = torch.randn(experts, width), ranks * tokens * 2
        kernel = moe(ranks, tokens, 2, experts, width, room)
        y = [torch.zeros(tokens, width) for _ in range(ranks)]
        with Ranks(ranks) as world:
            counts = world.zeros((ranks, 2, LINE), torch.int32)
            inbox = world.zeros((room, width), torch.float32)
            back = world.zeros((tokens * 2, width), torch.float32)
            words = [world.signals(ranks * 2) for _ in range(3)]
            for step in (1, 2):
                world.launch(
                    kernel, list(x), list(chosen), list(weights), scales, counts, inbox, back,
                    *words, y, step,
                )  # fmt: skip
        title = f"{tokens} tokens to 2 of {experts} experts"
        report_ranks(title, y, list(mixed(x, chosen, weights, scales)), tolerance=1e-6)


if __name__ == "__main__":
    main()
