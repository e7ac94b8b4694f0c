"""Decoder layers of a tensor-parallel model in one launch on all ranks.

Each rank has some of the heads and some of the hidden width. Products that leave a part of each sum
on a rank are followed by an all-reduce, which is a task like the others: no rank leaves the launch
between two layers. The number of layers, the batch and the length of the cache are symbols, so that
one binary serves every step. The kernels are those of the decoder block on one device.

With TILE_TIME=1 it also prints what the time model says of one launch and of a launch for each.
"""

import os
import sys
from pathlib import Path

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))
from megakernel.decoder_block import (
    AUTOMATIC, BATCH, F16, F32, OUTPUTS, ROWS, WEIGHTS, Kernels, angles_at, in_torch, random_layer,
)  # fmt: skip
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks

CONFIGS = {**AUTOMATIC, T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True}


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
                    to = (r + s + cid) % num
                    T.put_signal(
                        part, slots[step % 2, r, 0, start], sent[r * blocks + cid], step, to
                    )
                T.tile.fill(total, 0.0)
                for s in T.serial(num):
                    T.wait_ge(sent[s * blocks + cid], step)
                    T.copy(slots[step % 2, s, 0, start], part)
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
    """What each rank has of a layer: heads of queries and of keys, and columns of the hidden width."""
    keys, D = layer["K"].shape[2:]
    qkv = layer["w_qkv"].split([heads * D, keys * D, keys * D], 1)
    split = {
        "w_qkv": [t.chunk(ranks, 1) for t in qkv],
        "w_out": [layer["w_out"].chunk(ranks)],
        "w_gate_up": [t.chunk(ranks, 1) for t in layer["w_gate_up"].chunk(2, 1)],
        "w_down": [layer["w_down"].chunk(ranks)],
        "K": [layer["K"].chunk(ranks, 2)],
        "V": [layer["V"].chunk(ranks, 2)],
    }
    return [
        {
            name: torch.cat([part[rank] for part in split[name]], 1) if name in split else whole
            for name, whole in layer.items()
        }
        for rank in range(ranks)
    ]
