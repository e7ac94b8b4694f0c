"""Kernels without a single flag run at `strict` once automatic synchronisation is asked for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import PassConfigKey, jit
from tile_runtime.simulator.simulation_error import SimulationError

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def scaled_sum(rounds: int) -> Any:
    """y = x + the sum of the first `rounds` rows of x, scaled by an element of x."""
    rows, columns = 8, 64

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows // 2, is_npu=True) as (cid, vid):
            a = T.alloc_ub((1, columns), "float32")
            b = T.alloc_ub((1, columns), "float32")
            row = cid * 2 + vid
            T.copy(X[row, 0], a)
            s = a[0, 3]
            for i in range(rounds):
                T.copy(X[i, 0], b)
                T.tile.mul(b, b, s)
                T.tile.add(a, a, b)
            if s > 0.0:
                a[0, 5] = s * 2.0
            T.copy(a, Y[row, 0])

    return main


def expected(x: torch.Tensor, rounds: int) -> torch.Tensor:
    s = x[:, 3:4]
    y = x.clone()
    for i in range(rounds):
        y = y + x[i] * s
    y[:, 5] = torch.where(s[:, 0] > 0, s[:, 0] * 2, y[:, 5])
    return y


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
def test_no_race_and_the_right_result(rounds: int) -> None:
    x = torch.randn(8, 64)
    with override(check="strict"):
        y = jit(out_idx=[-1], pass_configs=AUTOMATIC)(scaled_sum)(rounds)(x)
    torch.testing.assert_close(y, expected(x, rounds))


def test_without_it_the_same_kernel_races() -> None:
    with override(check="strict"), pytest.raises(SimulationError):
        jit(out_idx=[-1])(scaled_sum)(2)(torch.randn(8, 64))
