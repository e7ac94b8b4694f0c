"""Kernels as packages for GPUs have them: factories that host functions call, tensors with strides
of their own and some that are left out, launches without threads. Each runs at `strict` against
torch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

import tile_frontend
from tile_frontend import StridedTensor
from tile_ir import CallError, KernelError
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


class _AsScriptsImportIt(ModuleType):
    """The language under the name of the module that scripts import."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tile_frontend, name)


T = _AsScriptsImportIt("tilelang.language")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.float(), expected.float(), rtol=1e-4, atol=1e-4)


# Launches of one index ----------------------------------------------------------------------------


@jit
def shares_of_matrices(count: int, size: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def shares(X: T.Tensor((n, size, size), "float32"), Y: T.Tensor((n, size, size), "float32")):
        with T.Kernel(T.ceildiv(n, count)) as b:
            x = T.alloc_fragment((count, size, size), "float32")
            of_rows = T.alloc_fragment((count, size), "float32")
            of_columns = T.alloc_fragment((count, size), "float32")
            T.copy(X[b * count, 0, 0], x)
            T.reduce_sum(x, of_rows, dim=2)
            for i, j, k in T.Parallel(count, size, size):
                x[i, j, k] = x[i, j, k] / of_rows[i, j]
            T.reduce_sum(x, of_columns, dim=1)
            for i, j, k in T.Parallel(count, size, size):
                x[i, j, k] = x[i, j, k] / of_columns[i, k]
            T.copy(x, Y[b * count, 0, 0])

    return shares


@pytest.mark.parametrize(("n", "count"), [(1, 1), (5, 4)])
def test_a_launch_of_one_index_is_for_gpus(n: int, count: int) -> None:
    """Dimensions are counted from the first one then, where on Ascend they are the last two."""
    x = torch.rand(n, 4, 4) + 0.5
    y = torch.empty_like(x)
    shares_of_matrices(count, 4)(x, y)
    x = x / x.sum(2, keepdim=True)
    close(y, x / x.sum(1, keepdim=True))


# Elements with gaps between them ------------------------------------------------------------------


@jit
def every_third(width: int, columns: int, start: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def gathered(X: T.Tensor((n, columns), "float32"), Y: T.Tensor((n, width), "float32")):
        with T.Kernel(n, threads=128) as b:
            y = T.alloc_fragment((width,), "float32")
            for j in T.Parallel(width):
                y[j] = X[b, j * 3 + start]
            T.copy(y, Y[b, 0])

    return gathered


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("start", [1, -4])
@pytest.mark.parametrize("columns", [40, 100, 104])
def test_elements_with_gaps_end_with_their_tensor(columns: int, start: int) -> None:
    x, y = torch.randn(3, columns), torch.empty(3, 64)
    every_third(64, columns, start)(x, y)
    places = torch.arange(64) * 3 + start
    inside = (places >= 0) & (places < columns)
    assert torch.equal(y, torch.where(inside, x[:, places.clamp(0, columns - 1)], 0))


# Tensors that callers have another way ------------------------------------------------------------


@jit
def doubled(columns: int) -> Any:
    n, pitch, pitch_out = T.symbolic("n"), T.symbolic("pitch"), T.symbolic("pitch_out")

    @T.prim_func
    def kernel(
        X: StridedTensor[(n, columns), (pitch, 1), T.float32],
        Y: StridedTensor[(n, columns), (pitch_out, 1), T.float32],
    ):
        with T.Kernel(n, threads=64) as b:
            T.assume(pitch % 4 == 0)
            x = T.alloc_shared((columns,), "float32")
            T.copy(X[b, 0], x)
            for i in T.Parallel(columns):
                x[i] = x[i] * 2.0
            T.copy(x, Y[b, 0])

    return kernel


def test_rows_may_lie_apart_where_the_text_says_strides() -> None:
    x, y = torch.randn(5, 96), torch.zeros(32, 5)
    kernel = doubled(32)
    kernel(x[:, 16:48], y.T)
    assert torch.equal(y.T, x[:, 16:48] * 2)
    dense = torch.empty(5, 32)
    for _ in range(2):
        kernel(x[:, :32], dense)
        assert torch.equal(dense, x[:, :32] * 2)


def test_strides_of_all_dimensions_are_given() -> None:
    with pytest.raises(KernelError, match="1 strides for 2 dimensions"):
        StridedTensor[(4, 4), (4,), "float32"]


@jit
def weighted(columns: int, with_weights: bool) -> Any:
    n, m, k = T.symbolic("n"), T.symbolic("m"), T.symbolic("k")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), "float32"),
        W: T.Tensor((n, columns), "float32"),
        unused: T.Tensor((m, k), "int32"),
        Y: T.Tensor((n, columns), "float32"),
    ):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_fragment((columns,), "float32")
            w = T.alloc_fragment((columns,), "float32")
            T.copy(X[b, 0], x)
            if with_weights:
                T.copy(W[b, 0], w)
                for i in T.Parallel(columns):
                    x[i] = x[i] * w[i]
            T.copy(x, Y[b, 0])

    return kernel


def test_what_a_kernel_leaves_alone_may_be_left_out() -> None:
    x, w, y = torch.randn(3, 32), torch.randn(3, 32), torch.empty(3, 32)
    weighted(32, False)(x, None, None, y)
    assert torch.equal(y, x)
    weighted(32, True)(x, w, None, y)
    assert torch.equal(y, x * w)
    with pytest.raises(CallError, match="`W` is None, expected a tensor of float32"):
        weighted(32, True)(x, None, None, y)


# Copies that convert ------------------------------------------------------------------------------


@jit
def copied(columns: int, dtype: Any, other: Any) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), dtype),
        Y: T.Tensor((n, columns), other),
        Z: T.Tensor((n, columns), dtype),
    ):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_shared((columns,), dtype)
            y = T.alloc_fragment((columns,), other)
            T.copy(X[b, 0], x)
            T.copy(x, Y[b, 0])
            T.copy(X[b, 0], y)
            T.copy(y, Z[b, 0])

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("columns", [6, 64])
@pytest.mark.parametrize("other", [torch.int32, torch.float32, torch.uint8])
def test_copies_convert_long_integers(columns: int, other: torch.dtype) -> None:
    x = torch.randint(0, 200, (3, columns))
    y, z = torch.zeros(3, columns, dtype=other), torch.zeros_like(x)
    copied(columns, torch.int64, other)(x, y, z)
    assert torch.equal(y, x.to(other)) and torch.equal(z, x)
