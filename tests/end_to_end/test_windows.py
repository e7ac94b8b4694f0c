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
    def kernel(
        X: T.Tensor((32, 64), "float32"),
        N: T.Tensor((8,), "int32"),
        Y: T.Tensor((32, 64), "float32"),
        c: T.int32,
    ):
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


TENSOR_STATEMENTS = {
    "store": lambda a, y, w, c: T.copy(a[0, :], y[1, c : c + 16]),
    "sum": lambda a, y, w, c: T.tile.atomic_add(y[1, c : c + 16], a[0, :]),
    "load": lambda a, y, w, c: T.copy(y[1, c : c + 16], a[0, :]),
    "rows of one batch": lambda a, y, w, c: T.copy(a, w[0, c : c + 2, :, 0]),
}


def tensor_window(name: str) -> Any:
    statement = TENSOR_STATEMENTS[name]

    @T.prim_func
    def kernel(Y: T.Tensor((3, 32), "float32"), W: T.Tensor((2, 12, 16, 1), "float32"), c: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((2, 16), "float32")
            T.tile.fill(a, 5.0)
            statement(a, Y, W, c)
            T.copy(a[0, :], Y[2, 0:16])

    return kernel


@pytest.mark.parametrize("name", TENSOR_STATEMENTS)
@pytest.mark.parametrize("level", ["strict", "device"])
def test_a_window_of_a_tensor_does_not_begin_before_its_row(name: str, level: str) -> None:
    """Nor do rows of one batch reach into the next; what hangs over an edge is cut."""
    y, w = torch.zeros(3, 32), torch.zeros(2, 12, 16, 1)
    with override(check=level):
        kernel = compile(tensor_window(name), pass_configs=ORDERED)
        kernel(y, w, 8)
        outside = 11 if name == "rows of one batch" else -2
        with pytest.raises(SimulationError) as caught:
            kernel(y, w, outside)
    assert caught.value.slug == "out-of-bounds"
    assert not w[1].any() and not y[0].any()
    if name == "store":
        with override(check=level):
            kernel(y, w, 28)
        assert y[1, 28:].tolist() == [5.0] * 4


def test_an_element_is_not_stored_behind_its_row() -> None:
    @T.prim_func
    def kernel(Y: T.Tensor((3, 32), "float32"), c: T.int32):
        with T.Kernel(1, threads=1) as cid:
            for j in T.serial(16):
                Y[0, c + j] = 1.0

    y = torch.zeros(3, 32)
    with pytest.raises(SimulationError) as caught:
        compile(kernel, pass_configs=ORDERED)(y, 20)
    assert caught.value.slug == "out-of-bounds" and not y[1].any()


@pytest.mark.parametrize("beside, told", [(1, "guard the index"), (-1, "is negative here")])
def test_an_element_beside_its_tile_is_told_with_what_to_write(beside: int, told: str) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((8, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((8, 32), "float32")
            y = T.alloc_shared((8, 32), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(8, 32):
                y[i, j] = x[i, j + beside] - x[i, j]
            T.copy(y, Y)

    with override(check="device"), pytest.raises(SimulationError) as caught:
        compile(kernel, pass_configs=ORDERED)(torch.ones(8, 32), torch.zeros(8, 32))
    assert caught.value.slug == "out-of-bounds" and told in (caught.value.hint or "")
