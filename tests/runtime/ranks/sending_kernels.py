"""A kernel whose blocks send or compute, and its launches, for tests of what a launch tells."""

from __future__ import annotations

import functools

import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import Ranks
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.simulator.rank_times import RankTimes

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
N, PART = 4096, 1024


@T.jit(pass_configs=CONFIGS)
def _sending(hops: int, waits: bool) -> T.PrimFunc:
    @T.prim_func
    def sending(
        x: T.Tensor((N,), "float32"),
        landed: T.SymmTensor((N,), "float32"),
        arrived: T.Signals(1),
        got: T.Tensor((N,), "float32"),
        y: T.Tensor((N,), "float32"),
    ) -> None:
        with T.Kernel(2, threads=1) as cid:
            part = T.alloc_ub((PART,), "float32")
            with T.Scale("device") as (r, num):
                if cid == 0:
                    T.put_signal(x, landed, arrived[0], 1, (r + hops) % num)
                    if waits:
                        T.wait_ge(arrived[0], 1)
                    T.copy(landed, got)
                else:
                    for i in T.serial(N // PART):
                        T.copy(x[i * PART], part)
                        for j in T.Parallel(PART):
                            part[j] = T.exp(part[j]) * part[j]
                        T.copy(part, y[i * PART])

    return sending


@functools.cache
def sending(hops: int = 1, waits: bool = True) -> JITKernel:
    """Block 0 of each rank puts to the rank `hops` further on, and block 1 computes."""
    return _sending(hops, waits)


def launch(world: Ranks, kernel: JITKernel) -> None:
    """One launch of `sending`."""
    count = range(world.count)
    x, got, y = ([torch.rand(N) for _ in count] for _ in range(3))
    world.launch(kernel, x, world.zeros(N, torch.float32), world.signals(1), got, y)


def timed(ranks: int, hops: int = 1, topology: str = "a2") -> RankTimes:
    """The result of such a launch with the clock on."""
    with Ranks(ranks, topology=topology) as world, override(time=True, check="off"):
        launch(world, sending(hops))
        assert world.times is not None, "the launch is timed"
        return world.times
