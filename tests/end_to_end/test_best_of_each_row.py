"""`T.tile.topk` row by row, which the compiler does for all rows at once: values, order of equal
ones, and rows of any number of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T
from tile_runtime import compile
from tile_runtime.jit_kernels.kernel_artifact import lower

from .automatic import AUTOMATIC

pytestmark = pytest.mark.usefixtures("strict")

# Rows of a lane, columns, pairs that are kept of a row, and lanes.
SIZES = [
    (44, 64, 8, 2), (5, 64, 8, 1), (7, 160, 8, 2), (6, 40, 4, 1), (9, 256, 8, 2), (1, 512, 16, 1),
    (4, 32, 32, 2), (3, 1024, 64, 1), (2, 2080, 128, 1), (4, 96, 12, 2), (40, 8, 8, 2),
    (88, 64, 8, 1), (3, 256, 100, 2),
]  # fmt: skip


def best(rows: int, columns: int, count: int, threads: int) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((threads * rows, columns), "float32"),
               P: T.Tensor((threads * rows, 2 * count), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads) as cid:
            x = T.alloc_shared((threads * rows, columns), "float32")
            pairs = T.alloc_shared((threads * rows, 2 * count), "float32")
            T.copy(X, x)
            for i in T.serial(threads * rows):
                T.tile.topk(pairs[i, :], x[i, :], count, columns)
            T.copy(pairs, P)

    return kernel


def wanted(x: torch.Tensor, count: int) -> np.ndarray[Any, Any]:
    """The largest first; of equal ones that of the lower number."""
    order = np.argsort(-x.numpy(), axis=1, kind="stable")[:, :count]
    values = np.take_along_axis(x.numpy(), order, 1)
    return np.stack([values, order.astype(np.float32)], -1).reshape(len(x), 2 * count)


@pytest.mark.parametrize(("rows", "columns", "count", "threads"), kept(SIZES, 2))
def test_rows_are_as_one_by_one(rows: int, columns: int, count: int, threads: int) -> None:
    torch.manual_seed(rows + columns)
    kernel = compile(best(rows, columns, count, threads), out_idx=[1], pass_configs=AUTOMATIC)
    several = threads * rows
    x = torch.randint(-50, 50, (several, columns)).float()  # many are equal
    x[0, ::3] = -torch.inf
    np.testing.assert_array_equal(kernel(x).numpy(), wanted(x, count))


def test_all_rows_are_one_operation() -> None:
    assert "sort_rows" in lower(best(6, 64, 8, 1), pass_configs=AUTOMATIC).kernel_source
