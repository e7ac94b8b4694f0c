"""Lines that need those of the round before overlap by default: instructions that wait for each
other leave the vector pipe to those of the round before. Right at strict, at odd sizes, with any number of rounds,
and faster by the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

ALONE = {T.PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: False}
# Rows, columns and rows of a tile: one round, odd numbers of them, columns that fill no block.
SIZES = [(4, 512, 1), (6, 100, 2), (15, 300, 5)]


def moments(M: int, N: int, rows: int, columns: int = 256) -> Any:
    """Welford's mean and variance of each column."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), A: T.Tensor((N,), "float32"), V: T.Tensor((N,), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(N, columns), threads=128) as bx:
            x = T.alloc_shared((rows, columns), "float32")
            mean, m2 = T.alloc_fragment((columns,), "float32"), T.alloc_fragment((columns,), "float32")  # fmt: skip
            d = T.alloc_fragment((columns,), "float32")
            T.clear(mean)
            T.clear(m2)
            for k in T.serial(M // rows):
                T.copy(X[k * rows, bx * columns], x)
                for r in T.serial(rows):
                    for j in T.Parallel(columns):
                        d[j] = x[r, j] - mean[j]
                        mean[j] = mean[j] + d[j] / (k * rows + r + 1)
                        m2[j] = m2[j] + d[j] * (x[r, j] - mean[j])
            for j in T.Parallel(columns):
                m2[j] = m2[j] / M
            T.copy(mean, A[bx * columns])
            T.copy(m2, V[bx * columns])

    return kernel


def gated(M: int, N: int, rows: int, columns: int = 256, last: int | None = None) -> Any:
    """A gated sum that goes on from row to row, of the first `last` rows of each tile."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float16"), G: T.Tensor((M, N), "float16"), L: T.Tensor((1,), "int32"), Y: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(N, columns), threads=128) as bx:
            x, g = T.alloc_shared((rows, columns), "float16"), T.alloc_shared((rows, columns), "float16")  # fmt: skip
            y = T.alloc_shared((rows, columns), "float32")
            h, a = T.alloc_fragment((columns,), "float32"), T.alloc_fragment((columns,), "float32")
            T.clear(h)
            for k in T.serial(M // rows):
                T.copy(X[k * rows, bx * columns], x)
                T.copy(G[k * rows, bx * columns], g)
                T.clear(y)
                for r in T.serial(L[0]):
                    for j in T.Parallel(columns):
                        a[j] = 1.0 / (1.0 + T.exp(-T.cast(g[r, j], "float32")))
                        h[j] = a[j] * h[j] + (1.0 - a[j]) * T.cast(x[r, j], "float32")
                        y[r, j] = h[j]
                T.copy(y, Y[k * rows, bx * columns])

    return kernel


def gated_rows(x: torch.Tensor, g: torch.Tensor, rows: int, last: int) -> torch.Tensor:
    a, h = torch.sigmoid(g.float()), torch.zeros(x.shape[1])
    y = torch.zeros(x.shape)
    for r in range(x.shape[0]):
        if r % rows < last:
            h = a[r] * h + (1 - a[r]) * x[r].float()
            y[r] = h
    return y


@pytest.mark.parametrize(("M", "N", "rows"), SIZES)
def test_moments_of_columns(strict: None, M: int, N: int, rows: int) -> None:
    x = torch.randn(M, N, generator=torch.Generator().manual_seed(M)) + 3
    mean, variance = T.compile(moments(M, N, rows), out_idx=[-2, -1])(x)
    torch.testing.assert_close(mean, x.mean(0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(variance, x.var(0, unbiased=False), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("last", "size"), [(0, 96), (1, 100), (5, 300)])
def test_a_number_of_rounds_known_at_run_time(strict: None, last: int, size: int) -> None:
    M, N, rows = SIZES[2][0], size, SIZES[2][2]
    made = torch.Generator().manual_seed(last)
    x, g = (torch.randn(M, N, generator=made).half() for _ in range(2))
    y = T.compile(gated(M, N, rows), out_idx=[-1])(x, g, torch.tensor([last], dtype=torch.int32))
    torch.testing.assert_close(y, gated_rows(x, g, rows, last), rtol=1e-2, atol=1e-2)


def test_it_is_faster_and_equal() -> None:
    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(7))
    times, found = [], []
    for configs in (ALONE, {}):
        with override(check="strict", time=True):
            kernel = T.compile(moments(64, 512, 16), out_idx=[-2, -1], pass_configs=configs)
            found.append(kernel(x))
        timeline = kernel.timeline()
        assert timeline is not None
        times.append(timeline.task_microseconds)
    assert all(map(torch.equal, *found))
    assert times[1] < 0.8 * times[0]
