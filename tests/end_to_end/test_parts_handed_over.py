"""Tiles of which the vector cores hand over a part: what no core hands over holds zeros, as behind
the edge of a tensor, where the part begins in the first row; later parts add to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with override(check="strict"):
        yield


def handed(rows: int, before: bool, rest: bool) -> Any:
    """The first `rows` of each core's eight, onto a tile that has a value `before` or not; with
    `rest` the others follow."""

    @T.prim_func
    def kernel(X: T.Tensor((16, 16), "float16"), One: T.Tensor((16, 16), "float16"),
               Y: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((8, 16), "float16")
            tile = T.alloc_L1((16, 16), "float16")
            one = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(One, one)
            if before:
                T.copy(One, tile)
            T.copy(X[vid * 8, 0], x)
            T.copy(x[0:rows, :], tile[vid * 8 : vid * 8 + rows, :])
            if rest:
                T.copy(x[rows:8, :], tile[vid * 8 + rows : vid * 8 + 8, :])
            T.gemm_v0(tile, one, c, init=True)
            T.copy(c, Y)

    return kernel


@pytest.mark.parametrize("rows", [1, 5, 7])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("rest", [False, True])
def test_the_rest_holds_what_was_there_or_zeros(rows: int, before: bool, rest: bool) -> None:
    x, one = torch.randint(-9, 9, (16, 16)).half(), torch.eye(16).half()
    got = compile(handed(rows, before, rest), out_idx=[-1], pass_configs=AUTOMATIC)(x, one)
    want = x.float()
    if not rest:
        left = one.float() if before else torch.zeros(16, 16)
        want.reshape(2, 8, 16)[:, rows:] = left.reshape(2, 8, 16)[:, rows:]
    np.testing.assert_array_equal(got, want)
