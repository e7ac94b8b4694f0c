"""Run the copies of the published bandwidth test on the simulator: one core, from one other rank.

The published time is the mean of many copies in one launch, so here it is that of the third and the
fourth.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch

import tile_frontend as T
from tile_ir.costs.links import TOPOLOGIES, LinkTable
from tile_ir.switches import override
from tile_runtime import Ranks

PIECE = 1024  # elements of 4 bytes
MOST = 1024 * PIECE
# The published copies take turns in one tile.
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True, "tl.ascend_overlap_loops": False}


@T.jit(pass_configs=CONFIGS)
def by_core() -> T.PrimFunc:
    """Pieces of 4 KB by way of one tile in ub."""

    @T.prim_func
    def kernel(
        x: T.SymmTensor((MOST,), "float32"),
        y: T.Tensor((MOST,), "float32"),
        pieces: T.int32,
        copies: T.int32,
    ) -> None:
        with T.Kernel(1, threads=1) as _cid, T.Scale("device") as (r, _num):
            tile = T.alloc_ub((PIECE,), "float32")
            if r == 0:
                for _ in T.serial(copies):
                    for i in T.serial(pieces):
                        T.copy(x[i * PIECE : i * PIECE + PIECE], tile, src_pe=1)
                        T.copy(tile, y[i * PIECE : i * PIECE + PIECE])

    return kernel


@T.jit(pass_configs=CONFIGS)
def by_engine() -> T.PrimFunc:
    """All of it by the SDMA engine."""

    @T.prim_func
    def kernel(
        x: T.SymmTensor((MOST,), "float32"),
        y: T.Tensor((MOST,), "float32"),
        pieces: T.int32,
        copies: T.int32,
    ) -> None:
        with T.Kernel(1, threads=1) as _cid, T.Scale("device") as (r, _num):
            if r == 0:
                for _ in T.serial(copies):
                    T.wait(T.get_async(x[: pieces * PIECE], y[: pieces * PIECE], 1))

    return kernel


@contextmanager
def linked_by(table: LinkTable) -> Iterator[str]:
    """The name of a topology whose constants are those of `table`."""
    TOPOLOGIES["of this test"] = table
    try:
        yield "of this test"
    finally:
        del TOPOLOGIES["of this test"]


@lru_cache(maxsize=64)
def copy_us(kernel: Any, size: int, table: LinkTable) -> float:
    """Modelled time of one copy of `size` bytes among many."""
    pieces = size // 4 // PIECE
    with linked_by(table) as topology, override(time=True, check="off"):
        return (_launch(kernel, pieces, 4, topology) - _launch(kernel, pieces, 2, topology)) / 2


def _launch(kernel: Any, pieces: int, copies: int, topology: str) -> float:
    with Ranks(2, topology=topology) as world:
        x = world.zeros(MOST, torch.float32)
        world.launch(kernel(), x, [torch.zeros(MOST) for _ in range(2)], pieces, copies)
        assert world.times is not None, "the launch is timed"
        return world.times.rank_microseconds[0]
