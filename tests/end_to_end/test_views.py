"""`T.view` and `T.reshape`, and reductions that return their result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with override(check="strict"):
        yield


def run(kernel: Any, *arguments: Any, **options: Any) -> Any:
    return compile(kernel, pass_configs=AUTOMATIC, **options)(*arguments)


@pytest.mark.parametrize("alloc", [T.alloc_ub, T.alloc_shared])
def test_another_shape_and_another_type(alloc: Any) -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((8, 16), "float32"),
          Z: T.Tensor((256,), "uint16")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = alloc((4, 32), "float32")
            T.copy(X, x)
            y = T.reshape(x, (8, 16))
            T.tile.add(y, y, 1.0)
            z = T.view(y, 256, "uint16")
            T.copy(y, Y)
            T.copy(z, Z)

    x = torch.randn(4, 32)
    y, z = run(k, x, out_idx=[1, 2])
    np.testing.assert_array_equal(y.numpy(), x.numpy().reshape(8, 16) + 1)
    np.testing.assert_array_equal(z.numpy(), y.numpy().view(np.uint16).reshape(-1))


def test_only_another_type() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 32), "float32"), Y: T.Tensor((2, 32), "int32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 32), "float32")
            T.copy(X, x)
            y = T.view(x, dtype="int32")
            T.copy(y, Y)

    x = torch.randn(2, 32)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy().view(np.int32))


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda x, g, l1: T.view(x, (63,)), "reinterpret-size"),
        (lambda x, g, l1: T.view(x, dtype="float16"), "reinterpret-size"),
        (lambda x, g, l1: T.view(x, (-1, 32)), "shape"),
        (lambda x, g, l1: T.view(x[0:32], (32,)), "operand-kind"),
        (lambda x, g, l1: T.view(g, (64,)), "operand-memory"),
        (lambda x, g, l1: T.view(l1, (64,)), "operand-memory"),
        (lambda x, g, l1: T.reduce_max(x, dim=2), "reduce-axis"),
    ],
)
def test_what_is_no_view(call: Any, slug: str) -> None:
    def k(X: T.Tensor((2, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            l1 = T.alloc_L1((16, 16), "float16")
            y = call(x, X, l1)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and caught.value.loc is not None


@pytest.mark.parametrize(("name", "numpy"), [("max", np.max), ("min", np.min), ("sum", np.sum)])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_a_reduction_returns_its_result(name: str, numpy: Any, dim: int) -> None:
    rows, columns = 8, 32
    kept = columns if dim in (0, -2) else rows
    reduction = getattr(T, f"reduce_{name}")

    @T.prim_func
    def k(X: T.Tensor((2, rows, columns), "float32"), Y: T.Tensor((2, kept), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, columns), "float32")
            for i in T.serial(2):
                T.copy(X[i, :, :], x)
                y = reduction(x, dim=dim)
                T.copy(y, Y[i, :])

    x = torch.randn(2, rows, columns)
    want = numpy(x.numpy(), axis=1 if dim in (0, -2) else 2)
    np.testing.assert_allclose(run(k, x, out_idx=[-1]).numpy(), want, rtol=1e-5, atol=1e-5)


def test_the_result_of_a_row_is_a_number() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            most = T.reduce_max(x)
            T.tile.sub(x, x, most[0])
            T.copy(x, Y)

    x = torch.randn(64)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy() - x.numpy().max())
