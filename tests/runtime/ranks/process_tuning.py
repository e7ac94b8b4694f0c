"""What the processes of test_tuning_in_step.py run, with a folder for results: every rank's line to
all, in pieces that are tuned.

Rank 1 has no kernel for the third piece, the fourth never signals, the fifth is wrong on rank 0.
The tuner's clock goes by the pieces that a launch sends, not by the machine: 256 is the fastest.
"""

from __future__ import annotations

import sys
import time
from typing import Any
from unittest.mock import patch

import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime import JITKernel, init_ranks, tune_ranks

N = 1024
NO_KERNEL, SILENT, WRONG = 32, 16, 64
PIECES = [{"piece": piece} for piece in (128, 256, NO_KERNEL, SILENT, WRONG)]


class Clock:
    """The functions of the module `time` that the tuner calls; seconds are pieces sent."""

    def __init__(self) -> None:
        self.sent = 0

    def perf_counter(self) -> float:
        return float(self.sent)

    def time(self) -> float:
        return time.time()


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def gather(ranks: int, piece: int) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((ranks, N), "float32"),
        words: T.Signals(ranks),
        step: T.int32,
    ) -> None:
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            for s in T.serial(num):
                for part in T.serial(N // piece):
                    at = part * piece
                    T.put(x[at : at + piece], y[r, at : at + piece], (r + s) % num)
                T.quiet()
                T.signal(words[r], 0 if piece == SILENT else step, (r + s) % num)
            for s in T.serial(num):
                T.wait_ge(words[s], step)

    return kernel


def main() -> None:
    clock = Clock()
    with (
        patch("tile_runtime.tuning.in_step.time", clock),
        init_ranks(heap_bytes=1 << 20, backend="gloo") as world,
    ):
        rank, count = world.rank, world.count
        y, words = world.zeros((count, N), torch.float32), world.signals(count)
        x = torch.arange(N, dtype=torch.float32) + 1000 * rank
        expected = torch.stack([x - 1000 * rank + 1000 * other for other in range(count)])
        tried: list[int] = []
        launches: list[int] = []

        def factory(piece: int) -> JITKernel:
            if rank == 1 and piece == NO_KERNEL:
                raise ValueError("no such piece here")
            tried.append(piece)
            made: JITKernel = gather(count, piece)
            return made

        def run(kernel: JITKernel, step: int) -> Any:
            launches.append(tried[-1])
            clock.sent += N // tried[-1]
            wrong = rank == 0 and tried[-1] == WRONG
            y[rank].zero_()
            world.barrier()
            with override(timeout=1 if tried[-1] == SILENT else 300):
                return world.launch(kernel, x + 1 if wrong else x, y, words, step)

        def check() -> None:
            assert torch.equal(y[rank], expected), "another line"

        def told(text: str) -> None:
            sys.stdout.write(f"rank {rank}: {text}\n")
            sys.stdout.flush()

        for _ in range(2):
            found = tune_ranks(world, factory, PIECES, run, check, passes=2, timeout=300)
            told(f"chose {found.config} after {sorted(set(launches))}")
            launches.clear()
        for row in found.tuning.rows:
            told(f"{row.values}: {row.state}, {row.problem}")
        world.launch(found, x, y, words, 1)
        check()
        try:
            tune_ranks(world, factory, PIECES[2:3], run, check, passes=1, timeout=300)
        except KernelError as error:
            told(f"none: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    with override(cache_dir=sys.argv[1]):
        main()
