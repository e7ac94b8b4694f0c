"""Tiles that are loaded in part, and read under the condition that says which part: what the other
elements hold is never read. Each at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

M, N = 12, 64


def tail(n: int, dtype: str) -> Any:
    """The first elements of each row, their greatest one, and zeros behind them."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=128) as i:
            x, y = T.alloc_shared((N,), dtype), T.alloc_fragment((N,), dtype)
            peak = T.alloc_fragment((1,), dtype)
            T.copy(X[i, 0:n], x[0:n])
            for j in T.Parallel(N):
                y[j] = T.if_then_else(j < n, x[j], -T.infinity(dtype))
            T.reduce_max(y, peak, dim=0)
            for j in T.Parallel(N):
                y[j] = T.if_then_else(j < n, T.exp(x[j] - peak[0]), T.cast(0, dtype))
            T.copy(y, Y[i, 0])

    return kernel


def counted(dtype: str) -> Any:
    """As many elements of each row as a tensor says."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), L: T.Tensor((M,), "int32"), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=128) as i:
            x, y = T.alloc_shared((N,), dtype), T.alloc_fragment((N,), dtype)
            n = L[i]
            T.copy(X[i, 0:n], x[0:n])
            for j in T.Parallel(N):
                y[j] = T.if_then_else(j < n, T.exp(x[j]), T.cast(0, dtype))
            T.copy(y, Y[i, 0])

    return kernel


def rows(first: int, n: int, dtype: str) -> Any:
    """Some rows in the middle, and -1 around them, by a branch."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(1, threads=128):
            x, y = T.alloc_shared((M, N), dtype), T.alloc_fragment((M, N), dtype)
            T.copy(X[first:n, 0:N], x[first:n, 0:N])
            for r, j in T.Parallel(M, N):
                if r >= first and r < n:
                    y[r, j] = x[r, j] * 2 + 1
                else:
                    y[r, j] = -1
            T.copy(y, Y)

    return kernel


def window(first: int) -> Any:
    """The elements behind some first ones."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=128) as i:
            x, y = T.alloc_shared((N,), "float32"), T.alloc_fragment((N,), "float32")
            T.copy(X[i, first:N], x[first:N])
            for j in T.Parallel(N):
                y[j] = T.if_then_else(j >= first, x[j] * 2, 0)
            T.copy(y, Y[i, 0])

    return kernel


def drawn(dtype: str) -> torch.Tensor:
    return torch.randn(M, N, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))


def check(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.float(), expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("n", [5, 16, 41])
def test_a_tail(n: int, dtype: str) -> None:
    x, expected = drawn(dtype), torch.zeros(M, N)
    part = x.float()[:, :n]
    expected[:, :n] = (part - part.amax(1, keepdim=True)).exp()
    check(compile(tail(n, dtype), out_idx=[-1])(x), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_count_from_memory(dtype: str) -> None:
    x, expected = drawn(dtype), torch.zeros(M, N)
    lengths = torch.tensor([0, 1, 7, 8, 9, 15, 16, 17, 33, 48, 63, 64], dtype=torch.int32)
    for row, n in enumerate(lengths.tolist()):
        expected[row, :n] = x[row, :n].float().exp()
    check(compile(counted(dtype), out_idx=[-1])(x, lengths), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("first", "n"), [(0, 5), (2, 12), (3, 4)])
def test_rows(first: int, n: int, dtype: str) -> None:
    x, expected = drawn(dtype), torch.full((M, N), -1.0)
    expected[first:n] = x[first:n].float() * 2 + 1
    check(compile(rows(first, n, dtype), out_idx=[-1])(x), expected)


@pytest.mark.parametrize("first", [8, 40])
def test_what_comes_behind(first: int) -> None:
    x, expected = drawn("float32"), torch.zeros(M, N)
    expected[:, first:] = x[:, first:] * 2
    check(compile(window(first), out_idx=[-1])(x), expected)
