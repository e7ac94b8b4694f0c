"""Stores under a condition that one vector core does, and tables with places from memory where a
dimension has one element or the index is a remainder."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_runtime import jit

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]


@jit
def stored_by_one_core() -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((3, 8), "int32"), Y: T.Tensor((3, 8), "int32")):
        with T.Kernel(1, threads=128):
            t = T.alloc_fragment((3, 8), "int32")
            sums = T.alloc_fragment((3,), "int32")
            T.fill(t, 1)
            T.reduce_sum(t, sums, dim=1)
            for i, j in T.Parallel(3, 8):
                if X[i, j] >= 1:
                    Y[i, j] = t[i, j] + sums[i]

    return kernel


def test_only_the_core_that_stores_elements_loads_them() -> None:
    x, y = torch.arange(-8, 16, dtype=torch.int32).view(3, 8), torch.zeros(3, 8, dtype=torch.int32)
    stored_by_one_core()(x, y)
    assert torch.equal(y, torch.where(x >= 1, 9, 0).int())


@jit
def picked(rows: int, columns: int) -> Any:
    @T.prim_func
    def kernel(
        X: T.Tensor((rows, 2 * columns), "int32"),
        P: T.Tensor((columns,), "int32"),
        Y: T.Tensor((rows, columns), "int32"),
        Z: T.Tensor((rows, columns), "int32"),
    ):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(rows, columns):
                Y[i, j] = X[P[i], j * 2]
            for i, j in T.Parallel(rows, columns):
                Z[i, j] = X[P[i], P[j]] + X[i, P[(i * columns + j) % columns]]

    return kernel


@pytest.mark.parametrize("rows, columns", [(1, 8), (1, 64), (2, 5), (5, 5), (4, 24)])
def test_places_in_small_tables(rows: int, columns: int) -> None:
    x = torch.randint(-99, 99, (rows, 2 * columns)).int()
    p = torch.randint(-1, rows + 1, (columns,)).int()
    y, z = torch.zeros(2, rows, columns, dtype=torch.int32)
    picked(rows, columns)(x, p, y, z)
    padded = torch.zeros(rows + 2, 2 * columns + 2, dtype=torch.int32)
    padded[1:-1, 1:-1] = x
    at = p.long() + 1  # elements outside of a tensor are 0
    assert torch.equal(y, padded[at[:rows]][:, 1:-1:2])
    assert torch.equal(z, padded[at[:rows]][:, at] + padded[1:-1][:, at])
