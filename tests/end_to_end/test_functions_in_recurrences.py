"""Functions of floats where only the scalar unit reaches: in recurrences, and in iterations of
T.Parallel that may use each other's elements. Each at `strict` against torch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")


def recurrence(name: str, n: int, dtype: str) -> Any:
    """Every element times a function of the one before."""

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((n,), dtype)
            T.copy(X, a)
            for i in T.serial(1, n):
                a[i] = getattr(T, name)(a[i - 1] + 0.5) * a[i]
            T.copy(a, Y)

    return kernel


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "erf"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_recurrences(name: str, dtype: str) -> None:
    n = 16
    x = torch.linspace(-3, 3, n).to(getattr(torch, dtype))
    want = x.clone()
    for i in range(1, n):
        want[i] = getattr(torch, name)(want[i - 1] + 0.5) * want[i]
    found = compile(recurrence(name, n, dtype), out_idx=[1])(x)
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    torch.testing.assert_close(found, want, rtol=tolerance, atol=tolerance)


def transform(rows: int, n: int) -> Any:
    """Fourier transforms of rows by butterflies between two halves of a tile."""
    steps = n.bit_length() - 1

    @T.prim_func
    def kernel(
        R: T.Tensor((rows, n), "float32"), S: T.Tensor((rows, n), "float32"),
        P: T.Tensor((rows, n), "float32"), Q: T.Tensor((rows, n), "float32"),
    ):  # fmt: skip
        with T.Kernel(rows, threads=64) as b:
            r, q = T.alloc_shared((2, n), "float32"), T.alloc_shared((2, n), "float32")
            T.copy(R[b, :], r[0, :])
            T.copy(S[b, :], q[0, :])
            for s in T.unroll(steps):
                for t in T.Parallel(n // 2):
                    size = 1 << s
                    to = t // size * 2 * size + t % size
                    angle = -math.pi * T.cast(t % size, "float32") / T.cast(size, "float32")
                    c, d = T.cos(angle), T.sin(angle)
                    x = r[s % 2, t + n // 2] * c - q[s % 2, t + n // 2] * d
                    y = r[s % 2, t + n // 2] * d + q[s % 2, t + n // 2] * c
                    r[(s + 1) % 2, to] = r[s % 2, t] + x
                    q[(s + 1) % 2, to] = q[s % 2, t] + y
                    r[(s + 1) % 2, to + size] = r[s % 2, t] - x
                    q[(s + 1) % 2, to + size] = q[s % 2, t] - y
            T.copy(r[steps % 2, :], P[b, :])
            T.copy(q[steps % 2, :], Q[b, :])

    return kernel


def test_butterflies() -> None:
    rows, n = 3, 32
    r, q = torch.randn(2, rows, n)
    real, imaginary = compile(transform(rows, n), out_idx=[2, 3])(r, q)
    want = torch.fft.fft(torch.complex(r, q))
    torch.testing.assert_close(real, want.real, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(imaginary, want.imag, rtol=1e-4, atol=1e-4)
