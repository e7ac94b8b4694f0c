"""Copies that are cut at the edge of a tensor, into tiles of an odd number of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def run(kernel: Any, *arguments: Any) -> Any:
    return compile(kernel, out_idx=[-1], pass_configs=AUTOMATIC)(*arguments).numpy()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("there", [1, 2, 20])
@pytest.mark.parametrize("width", [1, 3, 33])
def test_a_row_of_an_odd_width(width: int, there: int, dtype: str) -> None:
    """What is not there is the padding value, and tells by the elements that follow it."""

    @T.prim_func
    def k(X: T.Tensor((there,), dtype), Y: T.Tensor((width,), dtype)):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((width,), dtype)
            T.copy(X[0:width], x, pad_value=7)
            T.copy(x, Y)

    x = torch.randint(1, 99, (there,)).to(getattr(torch, dtype))
    want = np.full(width, 7, x.numpy().dtype)
    want[: min(there, width)] = x.numpy()[:width]
    np.testing.assert_array_equal(run(k, x), want)


@pytest.mark.parametrize("width", [1, 3, 33])
def test_rows_of_an_odd_width(width: int) -> None:
    rows = 5

    @T.prim_func
    def k(X: T.Tensor((3, width), "int8"), Y: T.Tensor((3, width), "int8")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, width), "int8")
            T.copy(X[0:rows, 0:width], x)
            T.copy(x, Y[0:rows, 0:width])

    x = torch.randint(-99, 99, (3, width), dtype=torch.int8)
    np.testing.assert_array_equal(run(k, x), x.numpy())
