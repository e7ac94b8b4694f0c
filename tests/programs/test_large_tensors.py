"""Tensors beyond 2**31 elements. Their pages are zeros that no memory stands behind, but for the
rows that are looked at, so the executor, which copies tensors, is not asked here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

WIDTH = 64
CONFIGS = {"tl.ascend_auto_sync": True}


def zeros(rows: int) -> torch.Tensor:
    """Unlike torch's own, which writes every page."""
    return torch.from_numpy(np.zeros((rows, WIDTH), np.int8))


def rows_of(rows: int, index: str) -> Any:
    @T.jit(out_idx=[2], pass_configs=CONFIGS)
    def make(rows: int, index: str) -> Any:
        @T.prim_func
        def main(
            x: T.Tensor((rows, WIDTH), "int8"),
            ix: T.Tensor((8,), index),
            y: T.Tensor((8, WIDTH), "int8"),
        ):
            with T.Kernel(8, is_npu=True) as (cid, vid):
                k = T.alloc_ub((8,), index)
                t = T.alloc_ub((WIDTH,), "int8")
                if vid == 0:
                    T.copy(ix, k)
                    T.copy(x[k[cid], :], t)
                    T.copy(t, y[cid, :])

        return main

    return make(rows, index)


def stored_rows(rows: int) -> Any:
    @T.jit(pass_configs=CONFIGS)
    def make(rows: int) -> Any:
        @T.prim_func
        def main(x: T.Tensor((rows, WIDTH), "int8"), ix: T.Tensor((8,), "int32")):
            with T.Kernel(8, is_npu=True) as (cid, vid):
                k = T.alloc_ub((8,), "int32")
                t = T.alloc_ub((WIDTH,), "int16")
                u = T.alloc_ub((WIDTH,), "int8")
                if vid == 0:
                    T.copy(ix, k)
                    T.tile.fill(t, cid + 1)
                    for j in T.Parallel(WIDTH):
                        u[j] = T.cast(t[j], "int8")
                    T.copy(u, x[k[cid], :])

        return main

    return make(rows)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("power", [31, 32])
def test_rows_far_behind_are_read(power: int, index: str) -> None:
    last = 2**power // WIDTH
    rows = last + 64
    x = zeros(rows)
    at = [0, 1, last - 1, last, last + 1, 5, rows - 1, 7]
    for number, row in enumerate(at):
        x[row] = number + 1
    with override(check="strict"):
        got = rows_of(rows, index)(x, torch.tensor(at, dtype=getattr(torch, index)))
    assert got[:, 0].tolist() == list(range(1, 9))
    assert torch.equal(got, x[at])


def test_rows_far_behind_are_written() -> None:
    last = 2**31 // WIDTH
    rows = last + 64
    x = zeros(rows)
    at = [0, 1, last - 1, last, last + 1, 5, rows - 1, 7]
    with override(check="strict"):
        stored_rows(rows)(x, torch.tensor(at, dtype=torch.int32))
    assert x[at][:, 0].tolist() == list(range(1, 9))
