"""Lines of a tile that no block starts with, or whose elements lie apart: the vector unit gathers
them, and what is computed is what the scalar unit computes element by element."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def run(kernel: Any, *arguments: torch.Tensor) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = kernel(*arguments)
    return found, [str(w.message) for w in told]


@jit
def windows(X, K, columns: int, dtype: Any):
    """Sums over a window that begins at every element."""
    N, L, W = T.const("N, L, W")
    X: T.Tensor((N, L), dtype)
    K: T.Tensor((W,), dtype)
    Y = T.empty((N, columns), T.float32)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L), dtype)
        k = T.alloc_fragment((W,), dtype)
        y = T.alloc_fragment((N, columns), T.float32)
        T.copy(X, x)
        T.copy(K, k)
        T.clear(y)
        for i, j in T.Parallel(N, columns):
            for w in T.serial(W):
                y[i, j] += x[i, j + w].astype(T.float32) * k[w].astype(T.float32)
        T.copy(y, Y)
    return Y


@pytest.mark.parametrize("dtype", [T.float16, T.float32])
@pytest.mark.parametrize("columns", [32, 37])
def test_windows_that_begin_at_every_element(columns: int, dtype: Any) -> None:
    torch.manual_seed(0)
    x = torch.randint(-4, 5, (4, 48)).to(getattr(torch, dtype))
    k = torch.randint(-4, 5, (6,)).to(getattr(torch, dtype))
    y, told = run(windows, x, k, columns, dtype)
    parts = x.float().unfold(1, 6, 1)[:, :columns]
    torch.testing.assert_close(y, (parts * k.float()).sum(2))
    assert not any("scalar loop" in text for text in told)


@jit
def every_third(X, dtype: Any, first: int):
    N, L = T.const("N, L")
    X: T.Tensor((N, L), dtype)
    Y = T.empty((N, L // 3), dtype)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L), dtype)
        y = T.alloc_fragment((N, L // 3), dtype)
        T.copy(X, x)
        for i, j in T.Parallel(N, L // 3):
            y[i, j] = x[i, j * 3 + first] + x[i, L - 1 - j]
        T.copy(y, Y)
    return Y


@pytest.mark.parametrize("dtype", [T.int16, T.int32, T.float32])
@pytest.mark.parametrize("first", [0, 2])
def test_elements_that_lie_apart_and_backwards(dtype: Any, first: int) -> None:
    torch.manual_seed(0)
    x = torch.randint(-100, 100, (5, 96)).to(getattr(torch, dtype))
    y, told = run(every_third, x, dtype, first)
    expected = x[:, first::3] + x.flip(1)[:, :32]
    torch.testing.assert_close(y, expected)
    assert not any("scalar loop" in text for text in told)


@jit
def columns_of(X, which: int):
    N, L = T.const("N, L")
    X: T.Tensor((N, L), T.float32)
    Y = T.empty((N, L), T.float32)
    D = T.empty((N,), T.float32)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L), T.float32)
        y = T.alloc_fragment((N, L), T.float32)
        d = T.alloc_fragment((N,), T.float32)
        T.copy(X, x)
        for i, j in T.Parallel(N, L):
            y[i, j] = x[i, j] - x[i, which]
        for i in T.Parallel(N):
            d[i] = x[i, i] * 2 + x[i, which]
        T.copy(y, Y)
        T.copy(d, D)
    return Y, D


@pytest.mark.parametrize("which", [0, 5])
def test_columns_and_diagonals(which: int) -> None:
    torch.manual_seed(0)
    x = torch.randint(-8, 9, (24, 40)).float()
    (y, d), _ = run(columns_of, x, which)
    torch.testing.assert_close(y, x - x[:, which : which + 1])
    torch.testing.assert_close(d, x.diagonal() * 2 + x[:, which])


@jit
def columns_to_tensor(X):
    """Columns of a tile to columns and to rows of tensors."""
    N, L = T.const("N, L")
    X: T.Tensor((N, L), T.float32)
    Y = T.empty((N, L), T.float32)
    Z = T.empty((L, N), T.float32)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L), T.float32)
        T.copy(X, x)
        for j in T.serial(L - 1):
            for i in T.Parallel(N):
                Y[i, j + 1] = x[i, j]
            for i in T.Parallel(N):
                Z[j, i] = x[i, j + 1]
        for i in T.Parallel(N):
            Y[i, 0] = 1.0
            Z[L - 1, i] = 2.0
    return Y, Z


def test_columns_that_go_to_tensors() -> None:
    torch.manual_seed(0)
    x = torch.randint(-8, 9, (24, 12)).float()
    (y, z), _ = run(columns_to_tensor, x)
    torch.testing.assert_close(y[:, 1:], x[:, :-1])
    torch.testing.assert_close(z[:-1], x.T[1:])
    assert torch.all(y[:, 0] == 1) and torch.all(z[-1] == 2)


@jit
def parts_of_a_row(X, S):
    """From a place on that a tensor says, so many elements as it says."""
    N, L = T.const("N, L")
    X: T.Tensor((N, L), T.float16)
    S: T.Tensor((2,), T.int32)
    Y = T.empty((N, 32), T.float16)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L), T.float16)
        y = T.alloc_fragment((N, 32), T.float16)
        T.copy(X, x)
        T.clear(y)
        for i in T.serial(N):
            for j in T.Parallel(32):
                if j < S[1]:
                    y[i, j] = x[i, S[0] + j] + x[i, j]
        T.copy(y, Y)
    return Y


@pytest.mark.parametrize(("first", "count"), [(0, 32), (7, 20), (16, 3), (31, 0)])
def test_parts_of_a_row(first: int, count: int) -> None:
    torch.manual_seed(0)
    x = torch.randint(-8, 9, (3, 64)).half()
    y, _ = run(parts_of_a_row, x, torch.tensor([first, count], dtype=torch.int32))
    expected = torch.zeros(3, 32).half()
    expected[:, :count] = x[:, first : first + count] + x[:, :count]
    torch.testing.assert_close(y, expected)
