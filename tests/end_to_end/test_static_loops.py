"""Lists of buffers, loops over them and Python's own functions of elements, run against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func
from tile_ir.switches import override

AUTO = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def two_slots() -> Func:
    """On both lanes of two blocks."""

    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            slots = [T.alloc_ub((64,), "float32") for _ in range(2)]
            first = (cid * 2 + vid) * 2
            for i in T.unroll(2):
                T.copy(X[first + i, 0], slots[i])
            for i in T.unroll(2):
                T.tile.mul(slots[i], slots[i], slots[1 - i])
                T.copy(slots[i], Y[first + i, 0])

    return k


def products(x: torch.Tensor) -> torch.Tensor:
    pairs = x.reshape(4, 2, 64)
    first = pairs[:, 0] * pairs[:, 1]
    return torch.stack([first, first * pairs[:, 1]], 1).reshape(8, 64)


def sums_of_tiles(rows: int) -> Func:
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            xs = [T.alloc_ub((64,), "float32") for _ in range(rows)]
            y = T.alloc_ub((64,), "float32")
            for i, x in enumerate(xs):
                T.copy(X[i, 0], x)
            for i in T.Parallel(64):
                y[i] = sum(x[i] for x in xs) + max(abs(x[i]) for x in xs) - min([0.5, xs[0][i]])
            for i in range(8):
                T.copy(y, Y[i, 0])

    return k


def sums(rows: int) -> Any:
    def reference(x: torch.Tensor) -> torch.Tensor:
        x = x[:rows]
        found = x.sum(0) + x.abs().amax(0) - x[0].clamp(max=0.5)
        return found.expand(8, 64)

    return reference


@pytest.mark.parametrize(
    ("func", "reference"),
    [(two_slots(), products), *((sums_of_tiles(n), sums(n)) for n in (1, 2, 5))],
    ids=["slots", "sum-1", "sum-2", "sum-5"],
)
def test_against_torch(func: Func, reference: Any) -> None:
    x = torch.randn(8, 64, generator=torch.Generator().manual_seed(1))
    with override(check="strict"):
        found = T.compile(func, out_idx=[-1], pass_configs=AUTO)(x)
    torch.testing.assert_close(found, reference(x))
