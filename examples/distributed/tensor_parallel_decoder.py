"""Decoder layers of a tensor-parallel model in one launch on all ranks.

Each rank has some of the heads and some of the hidden width. Products that leave a part of each sum
on a rank are followed by an all-reduce, which is a task like the others: no rank leaves the launch
between two layers. The number of layers, the batch and the length of the cache are symbols, so that
one binary serves every step. The kernels are those of the decoder block on one device.

With TILE_TIME=1 it also prints what the time model says of one launch and of a launch for each.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))
from megakernel.decoder_block import (
    AUTOMATIC,
    BATCH,
    F16,
    F32,
    ROWS,
    WEIGHTS,
    Kernels,
    angles_at,
    compile_each,
    in_torch,
    random_layer,
)  # fmt: skip
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks


def all_reduce(ranks: int, width: int, columns: int) -> T.PrimFunc:
    """Y = the sum of X over all ranks. A block puts its columns to all ranks and adds what all have
    put. Slots of two steps alternate: who is told of a step knows that the one before it is read.
    """
    blocks = width // columns

    @T.prim_func
    def reduce(
        X: T.Tensor((BATCH, width), F16),
        slots: T.SymmTensor((2, ranks, ROWS, width), F16),
        sent: T.Signals(ranks * blocks),
        Y: T.Tensor((BATCH, width), F16),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks, threads=1, is_npu=True) as cid:
            part = T.alloc_shared((ROWS, columns), F16)
            term = T.alloc_shared((ROWS, columns), F32)
            total = T.alloc_shared((ROWS, columns), F32)
            start = cid * columns
            with T.Scale("device") as (r, num):
                T.copy(X[0, start], part)
                for s in T.serial(num):
                    own = slots[step % 2, r, 0:BATCH, start : start + columns]
                    T.put(part[0:BATCH, :], own, (r + s) % num)
                T.quiet()
                for s in T.serial(num):
                    T.signal(sent[r * blocks + cid], step, (r + s) % num)
                T.tile.fill(total, 0.0)
                for s in T.serial(num):
                    T.wait_ge(sent[s * blocks + cid], step)
                    T.copy(slots[step % 2, s, 0:BATCH, start : start + columns], part[0:BATCH, :])
                    T.copy(part, term)
                    for i, j in T.Parallel(ROWS, columns):
                        total[i, j] = total[i, j] + term[i, j]
                T.copy(total, part)
                T.copy(part, Y[0, start])

    return reduce


def decoder_layers(kernels: Kernels, reduce: T.PrimFunc) -> T.PrimFunc:
    """As many layers in one launch as the weights have; `x` goes through all of them."""
    tasks = {name: T.Task(kernel, name=name) for name, kernel in vars(kernels).items()}
    sum_up = T.Task(reduce)
    calls = [
        tasks["norm"]("x", "norm_1", "n"),
        tasks["qkv"]("n", "w_qkv", "qkv"),
        tasks["rope"]("qkv", "cos", "sin", "q", "K", "V"),
        tasks["attend"]("q", "K", "V", "o"),
        tasks["out"]("o", "w_out", "part_1"),
        sum_up("part_1", "slots_1", "sent_1", "h", "step"),
        tasks["residual_norm"]("x", "h", "norm_2", "s", "m"),
        tasks["gate_up"]("m", "w_gate_up", "g"),
        tasks["silu_mul"]("g", "u"),
        tasks["down"]("u", "w_down", "part_2"),
        sum_up("part_2", "slots_2", "sent_2", "d", "step"),
        tasks["residual"]("s", "d", "x"),
    ]
    stacked = [*WEIGHTS, "K", "V"]
    return T.megakernel(
        calls, inputs=["x", "cos", "sin", *stacked], outputs=["x"], step="step",
        turns=T.symbolic("layers"), stacked=stacked, name="decoder_layers",
    )  # fmt: skip


def shares(layer: dict[str, Tensor], ranks: int, heads: int) -> list[dict[str, Tensor]]:
    """What each rank has of a layer: some of the heads, and some of the hidden width."""
    keys, D = layer["K"].shape[2:]
    columns = {
        "w_qkv": layer["w_qkv"].split([heads * D, keys * D, keys * D], 1),
        "w_gate_up": layer["w_gate_up"].chunk(2, 1),
    }
    return [
        {
            **layer,
            **{n: torch.cat([p.chunk(ranks, 1)[r] for p in of], 1) for n, of in columns.items()},
            **{n: layer[n].chunk(ranks)[r] for n in ("w_out", "w_down")},
            **{n: layer[n].chunk(ranks, 2)[r] for n in ("K", "V")},
        }
        for r in range(ranks)
    ]


def of_a_rank(
    ranks: int, width: int, heads: int, keys: int, D: int, hidden: int, block_N: int, block_K: int,
    columns: int,
) -> tuple[Kernels, T.PrimFunc]:  # fmt: skip
    """The kernels of one rank, and what adds up what all have made."""
    sizes = heads // ranks, keys // ranks, D, hidden // ranks
    return Kernels(width, *sizes, block_N, block_K), all_reduce(ranks, width, columns)


@T.jit(pass_configs=AUTOMATIC)
def tensor_parallel(
    ranks: int, width: int = 256, heads: int = 8, keys: int = 4, D: int = 64, hidden: int = 512,
    block_N: int = 64, block_K: int = 64, columns: int = 64,
) -> T.PrimFunc:  # fmt: skip
    return decoder_layers(
        *of_a_rank(ranks, width, heads, keys, D, hidden, block_N, block_K, columns)
    )


class Model:
    """Layers on so many ranks: one launch for all, and a launch for each kernel."""

    def __init__(
        self, ranks: int, block_N: int = 64, block_K: int = 64, columns: int = 64, **sizes: int
    ) -> None:
        self.ranks, self.heads, self.sizes = ranks, sizes["heads"], sizes
        tiles = {"block_N": block_N, "block_K": block_K, "columns": columns}
        self.together = tensor_parallel(ranks, **sizes, **tiles)
        kernels, reduce = of_a_rank(ranks, **sizes, **tiles)
        self.each = compile_each(kernels)
        self.each["reduce"] = T.compile(reduce, out_idx=[3], pass_configs=AUTOMATIC)
        self.slots = (2, ranks, ROWS, sizes["width"]), torch.float16
        self.words = ranks * sizes["width"] // columns

    def layers(self, count: int, batch: int, length: int) -> list[dict[str, Tensor]]:
        return [random_layer(batch, length, **self.sizes) for _ in range(count)]

    def stacked(self, layers: list[dict[str, Tensor]]) -> dict[str, list[Tensor]]:
        """For each tensor of a layer, what each rank has of that of all layers."""
        own = [shares(layer, self.ranks, self.heads) for layer in layers]
        return {
            name: [torch.stack([of[rank][name] for of in own]) for rank in range(self.ranks)]
            for name in layers[0]
        }

    def in_one_launch(
        self, world: Ranks, x: Tensor, angles: tuple[Tensor, Tensor], own: dict[str, list[Tensor]]
    ) -> list[Tensor]:
        result = [x.clone() for _ in range(self.ranks)]
        world.launch(self.together, result, *angles, *own.values())
        return result

    def one_by_one(
        self, world: Ranks, x: Tensor, angles: tuple[Tensor, Tensor], own: dict[str, list[Tensor]]
    ) -> tuple[list[Tensor], list[tuple[float, float]]]:
        """The same in a launch for each, and the modelled time of every launch."""
        slots, words = world.zeros(*self.slots), world.signals(self.words)
        times: list[tuple[float, float]] = []

        def run(name: str, *arguments: Any) -> Any:
            result = world.launch(self.each[name], *arguments)
            if world.times is not None:
                line = world.times.whole
                times.append((line.microseconds, line.body_microseconds))
            return result

        def summed(parts: list[Tensor]) -> list[Tensor]:
            steps.append(len(steps) + 1)
            return run("reduce", parts, slots, words, steps[-1])

        steps: list[int] = []
        batch, (keys, D) = x.shape[0], own["K"][0].shape[3:]
        xs = [x] * self.ranks
        for n in range(len(own["K"][0])):
            layer = {name: [t[n] for t in tensors] for name, tensors in own.items()}
            qkv = run("qkv", run("norm", xs, layer["norm_1"]), layer["w_qkv"])
            qkv = [t.view(batch, -1, D) for t in qkv]
            q = [t.new_empty(batch, t.shape[1] - 2 * keys, D) for t in qkv]
            run("rope", qkv, *angles, q, layer["K"], layer["V"])
            o = [t.view(batch, -1) for t in run("attend", q, layer["K"], layer["V"])]
            h = summed(run("out", o, layer["w_out"]))
            s, m = zip(*run("residual_norm", xs, h, layer["norm_2"]), strict=True)
            u = run("silu_mul", run("gate_up", list(m), layer["w_gate_up"]))
            xs = run("residual", list(s), summed(run("down", u, layer["w_down"])))
        return xs, times


def show_times(ranks: int) -> None:
    """A layer of a model of 1B parameters, batch 1, 512 keys: 61 million weights."""
    sizes = {"width": 2048, "heads": 32, "keys": 8, "D": 64, "hidden": 8192}
    model = Model(ranks, block_N=128, block_K=128, columns=128, **sizes)
    x, angles = torch.randn(1, 2048).half(), angles_at(511, 64)
    own = model.stacked(model.layers(1, 1, 512))
    with Ranks(ranks) as world:
        _, times = model.one_by_one(world, x, angles, own)
        model.in_one_launch(world, x, angles, own)
        line = world.times.whole
        hidden = world.times.exposed_microseconds
    total, bodies = (sum(t) for t in zip(*times, strict=True))
    print(
        f"modelled, {ranks} ranks: {len(times)} launches {total:.1f} us, one "
        f"{line.microseconds:.1f} us; without what launches take to begin {bodies:.1f} us and "
        f"{line.body_microseconds:.1f} us; of that, waiting for links {hidden:.1f} us"
    )


def main() -> None:
    # Weights of attention need whole rows; no vector core waits for the other.
    warnings.filterwarnings("ignore", "both vector cores do the same part")
    torch.manual_seed(0)
    for ranks in (1, 2, 4):
        model = Model(ranks, width=256, heads=8, keys=4, D=64, hidden=512)
        for count, batch, length in ((1, 1, 1), (2, 3, 70), (3, 16, 33)):
            layers = model.layers(count, batch, length)
            x, angles = torch.randn(batch, 256).half(), angles_at(length - 1, 64)
            own, again = model.stacked(layers), model.stacked(layers)
            with Ranks(ranks) as world:
                found = model.in_one_launch(world, x, angles, own)
                separate, _ = model.one_by_one(world, x, angles, again)
            expected = x
            for layer in layers:
                expected = in_torch(expected, angles, layer)
            pairs = [*zip(found, separate, strict=True), *zip(own["K"], again["K"], strict=True)]
            if not all(torch.equal(a, b) for a, b in pairs):
                sys.exit("MISMATCH: one launch and a launch for each")
            title = f"{count} layers of batch {batch}, {length} keys"
            report_ranks(title, found, [expected] * ranks, tolerance=1e-2)
    if os.environ.get("TILE_TIME"):
        for ranks in (2, 4):
            show_times(ranks)


if __name__ == "__main__":
    main()
