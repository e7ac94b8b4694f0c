"""Stages of a pipeline: every device does its part of the work on each micro-batch and hands it on.

A stage has a window of places for what the one before it sends. That may run ahead as long as there
are places: it hears of each one that was read. Stage p computes max(x * scale + p, 0), and the last
one keeps the results. Words count micro-batches over all calls.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def pipeline_stages(
    batches: int, n: int, window: int = 2, part: int = 256, scale: float = 0.5
) -> T.PrimFunc:
    blocks = T.ceildiv(n, part)

    @T.prim_func
    def kernel(
        x: T.Tensor((batches, n), "float32"),
        places: T.SymmTensor((window, n), "float32"),
        sent: T.Signals(blocks),
        taken: T.Signals(blocks),
        y: T.Tensor((batches, n), "float32"),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            start = cid * part
            batch = T.alloc_shared((part,), "float32")
            with T.Scale("device") as (r, num):
                for m in T.serial(batches):
                    count = (step - 1) * batches + m + 1
                    if r == 0:
                        T.copy(x[m, start : start + part], batch)
                    else:
                        T.wait_ge(sent[cid], count)
                        T.copy(places[(count - 1) % window, start : start + part], batch)
                        T.signal(taken[cid], count, r - 1)
                    for i in T.Parallel(part):
                        batch[i] = T.max(batch[i] * scale + r, 0.0)
                    if r == num - 1:
                        T.copy(batch, y[m, start : start + part])
                    else:
                        T.wait_ge(taken[cid], count - window)
                        T.put_signal(
                            batch,
                            places[(count - 1) % window, start : start + part],
                            sent[cid],
                            count,
                            r + 1,
                        )

    return kernel


def stages(x: torch.Tensor, ranks: int, scale: float = 0.5) -> torch.Tensor:
    for rank in range(ranks):
        x = torch.relu(x * scale + rank)
    return x


def main() -> None:
    torch.manual_seed(0)
    for ranks, batches, n, window in ((1, 3, 100, 2), (3, 5, 301, 1), (4, 7, 512, 2)):
        x, y = torch.randn(batches, n), [torch.zeros(batches, n) for _ in range(ranks)]
        with Ranks(ranks) as world:
            places = world.zeros((window, n), torch.float32)
            blocks = T.ceildiv(n, 256)
            sent, taken = world.signals(blocks), world.signals(blocks)
            for step in (1, 2):
                kernel = pipeline_stages(batches, n, window)
                world.launch(kernel, x, places, sent, taken, y, step)
        title = f"{batches} micro-batches of {n} with {window} places"
        nothing = [torch.zeros(batches, n)] * (ranks - 1)
        report_ranks(title, y, [*nothing, stages(x, ranks)])


if __name__ == "__main__":
    main()
