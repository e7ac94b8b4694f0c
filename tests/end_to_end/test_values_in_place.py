"""Reductions into what they reduce, and broadcasts into packed rows, against NumPy at `strict`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def run(kernel: Any, *arguments: Any, automatic: bool = True) -> Any:
    configs = AUTOMATIC if automatic else None
    return compile(kernel, out_idx=[-1], pass_configs=configs)(*arguments).numpy()


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("columns", [8, 64, 200])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["max", "sum"])
def test_a_row_into_its_own_first_element(
    name: str, dtype: str, columns: int, automatic: bool
) -> None:
    reduction = getattr(T, f"reduce_{name}")

    @T.prim_func
    def k(X: T.Tensor((1, columns), dtype), Y: T.Tensor((1, columns), dtype)):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((1, columns), dtype)
            with T.Scope("V"):
                T.copy(X, x)
                T.barrier_all()
                reduction(x, x[:, 0], dim=-1)
                T.barrier_all()
                T.copy(x, Y)

    x = torch.randn(1, columns).to(getattr(torch, dtype))
    want = x.numpy().copy()
    want[0, 0] = getattr(np, name)(x.numpy().astype(np.float64))
    np.testing.assert_allclose(run(k, x, automatic=automatic), want, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("clear", [True, False])
def test_columns_into_their_own_first_row(clear: bool) -> None:
    @T.prim_func
    def k(X: T.Tensor((5, 32), "float32"), Y: T.Tensor((5, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((5, 32), "float32")
            T.copy(X, x)
            T.reduce_sum(x, x[0, :], dim=0, clear=clear)
            T.copy(x, Y)

    x = torch.randn(5, 32)
    want = x.numpy().copy()
    want[0] = x.numpy().sum(0) + (0 if clear else x.numpy()[0])
    np.testing.assert_allclose(run(k, x), want, rtol=1e-5, atol=1e-5)


def test_a_place_inside_a_block_is_refused() -> None:
    @T.prim_func
    def k(X: T.Tensor((1, 64), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((1, 64), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                T.reduce_sum(x, x[:, 3], dim=-1)

    with pytest.raises(KernelError) as caught:
        compile(k, pass_configs=AUTOMATIC)
    assert caught.value.slug == "operand-alignment" and caught.value.loc is not None


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("columns", [1, 3, 5, 33])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16"])
def test_broadcast_into_packed_rows(dtype: str, columns: int, automatic: bool) -> None:
    rows = 6

    @T.prim_func
    def k(R: T.Tensor((columns,), dtype), C: T.Tensor((rows,), dtype),
          Y: T.Tensor((2, rows * columns), dtype)):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            r = T.alloc_ub((64,), dtype)
            c = T.alloc_ub((16,), dtype)
            y = T.alloc_ub((rows, columns), dtype)
            flat = T.view(y, (rows * columns,))
            with T.Scope("V"):
                T.copy(R[0], r[0:columns])
                T.copy(C[0], c[0:rows])
                T.barrier_all()
                T.tile.broadcast(y, r[0:columns], axis=0)
                T.barrier_all()
                T.copy(flat, Y[0, :])
                T.barrier_all()
                T.tile.broadcast(y, c[0:rows], axis=1)
                T.barrier_all()
                T.copy(flat, Y[1, :])

    r = (torch.randn(columns) * 9).to(getattr(torch, dtype))
    c = (torch.randn(rows) * 9).to(getattr(torch, dtype))
    want = [np.broadcast_to(r.numpy(), (rows, columns)).reshape(-1),
            np.repeat(c.numpy(), columns)]  # fmt: skip
    np.testing.assert_array_equal(run(k, r, c, automatic=automatic), np.stack(want))
