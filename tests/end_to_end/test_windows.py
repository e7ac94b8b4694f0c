"""Parts of tiles, known at run time only, that leave their row: the row behind it is not written in
silence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import PassConfigKey, SimulationError, compile

ORDERED = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}

STATEMENTS = {
    "fill": lambda a, b, n, c: T.tile.fill(a[0, c : c + 16], 0.0),
    "operation": lambda a, b, n, c: T.tile.add(a[0:2, c : c + 16], a[0:2, c : c + 16], 1.0),
    "source": lambda a, b, n, c: T.copy(a[0, c : c + 16], b),
    "loaded": lambda a, b, n, c: T.tile.fill(a[0, n[0] : n[0] + 16], 0.0),
    "extent": lambda a, b, n, c: T.tile.fill(a[0, 8 : c + 24], 0.0),
    "row": lambda a, b, n, c: T.tile.fill(a[c - 16, 0:16], 0.0),
}


def window(name: str) -> Any:
    statement = STATEMENTS[name]

    @T.prim_func
    def kernel(X: T.Tensor((32, 64), "float32"), N: T.Tensor((8,), "int32"), Y: T.Tensor((32, 64), "float32"), c: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32, 64), "float32")
            b = T.alloc_ub((16,), "float32")
            n = T.alloc_ub((8,), "int32")
            T.copy(X, a)
            T.copy(N, n)
            statement(a, b, n, c)
            T.copy(a, Y)

    return kernel


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("level", ["strict", "device"])
def test_a_window_stays_in_its_row(name: str, level: str) -> None:
    x = torch.ones(32, 64)
    with override(check=level):
        kernel = compile(window(name), pass_configs=ORDERED)
        for c in (16, 40):
            kernel(x, torch.full((8,), c).int(), torch.zeros(32, 64), c)
        with pytest.raises(SimulationError, match="dimension 1 of `a`|bytes") as caught:
            kernel(x, torch.full((8,), 56).int(), torch.zeros(32, 64), 56)
    assert caught.value.slug == "out-of-bounds"
