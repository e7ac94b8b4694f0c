"""Blocks of a developer's kernel that do the tiles of neighbours by default: results are those of
blocks as they are, bit for bit at strict, in no more modelled time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Const
from tile_ir.switches import override
from tile_passes import run_pipeline
from tile_runtime.options.pass_configs import pass_options

OFF = {T.PassConfigKey.TL_ASCEND_RETILE: False}
MOST = 1.02
F16, F32, I32 = "float16", "float32", "int32"
Made = tuple[T.PrimFunc, tuple[Any, ...]]


def bias(rows: int, per: int, n: int, dtype: str) -> Made:
    """Rows that share one that is loaded by each block."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, n), dtype), B: T.Tensor((1, n), dtype),
               Y: T.Tensor((rows, n), dtype)):  # fmt: skip
        with T.Kernel(T.ceildiv(rows, per), threads=2) as cid:
            x = T.alloc_shared((per, n), dtype)
            b = T.alloc_shared((1, n), dtype)
            T.copy(X[cid * per, 0], x)
            T.copy(B, b)
            for i, j in T.Parallel(per, n):
                x[i, j] = T.max(x[i, j] + b[0, j], 0)
            T.copy(x, Y[cid * per, 0])

    return kernel, (values(rows, n, dtype), values(1, n, dtype))


def softmax(rows: int, per: int, n: int, dtype: str) -> Made:
    @T.prim_func
    def kernel(X: T.Tensor((rows, n), dtype), Y: T.Tensor((rows, n), dtype)):
        with T.Kernel(T.ceildiv(rows, per), threads=2) as cid:
            x = T.alloc_shared((per, n), dtype)
            f = T.alloc_fragment((per, n), F32)
            most = T.alloc_fragment((per,), F32)
            total = T.alloc_fragment((per,), F32)
            T.copy(X[cid * per, 0], x)
            T.copy(x, f)
            T.reduce_max(f, most, dim=1)
            for i, j in T.Parallel(per, n):
                f[i, j] = T.exp(f[i, j] - most[i])
            T.reduce_sum(f, total, dim=1)
            for i, j in T.Parallel(per, n):
                f[i, j] = f[i, j] / total[i]
            T.copy(f, x)
            T.copy(x, Y[cid * per, 0])

    return kernel, (values(rows, n, dtype),)


def running(rows: int, per: int, n: int, dtype: str) -> Made:
    @T.prim_func
    def kernel(X: T.Tensor((rows, n), dtype), Y: T.Tensor((rows, n), dtype)):
        with T.Kernel(T.ceildiv(rows, per)) as cid:
            x = T.alloc_shared((per, n), dtype)
            T.copy(X[cid * per, 0], x)
            T.cumsum(x, x, dim=1)
            T.copy(x, Y[cid * per, 0])

    return kernel, (values(rows, n, dtype),)


def chunks(rows: int, per: int, n: int, dtype: str) -> Made:
    """A sum over parts of rows, and a grid of two dimensions."""

    @T.prim_func
    def kernel(X: T.Tensor((3, rows, n), dtype), Y: T.Tensor((2, rows, n), dtype)):
        with T.Kernel(T.ceildiv(rows, per), 2) as (by, bz):
            x = T.alloc_shared((per, n), dtype)
            total = T.alloc_shared((per, n), dtype)
            T.clear(total)
            for part in T.serial(2):
                T.copy(X[bz + part, by * per, 0], x)
                for i, j in T.Parallel(per, n):
                    total[i, j] = total[i, j] + x[i, j] * (part + 1)
            T.copy(total, Y[bz, by * per, 0])

    return kernel, (values(3 * rows, n, dtype).reshape(3, rows, n),)


def gathered(rows: int, per: int, n: int, dtype: str) -> Made:
    """Rows whose places are loaded."""

    @T.prim_func
    def kernel(X: T.Tensor((7, n), dtype), places: T.Tensor((rows,), I32),
               Y: T.Tensor((rows, n), dtype)):  # fmt: skip
        with T.Kernel(T.ceildiv(rows, per)) as cid:
            x = T.alloc_shared((per, n), dtype)
            for i, j in T.Parallel(per, n):
                x[i, j] = X[places[cid * per + i], j]
            T.copy(x, Y[cid * per, 0])

    return kernel, (values(7, n, dtype), (torch.arange(rows) * 3 % 7).int())


def product(rows: int, per: int, n: int, dtype: str) -> Made:
    m, columns = rows * 16, 3 * 48

    @T.prim_func
    def kernel(A: T.Tensor((m, n), F16), B: T.Tensor((n, columns), F16),
               C: T.Tensor((m, columns), F32)):  # fmt: skip
        with T.Kernel(3, T.ceildiv(m, 16 * per), threads=2) as (bx, by):
            a = T.alloc_shared((16 * per, 32), F16)
            b = T.alloc_shared((32, 48), F16)
            c = T.alloc_fragment((16 * per, 48), F32)
            T.clear(c)
            for k in T.serial(T.ceildiv(n, 32)):
                T.copy(A[by * 16 * per, k * 32], a)
                T.copy(B[k * 32, bx * 48], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(16 * per, 48):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * 16 * per, bx * 48])

    return kernel, (values(m, n, F16), values(n, columns, F16))


def values(rows: int, n: int, dtype: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rows + n)
    found = torch.randn(rows, n, generator=generator) * 4
    return found.to(getattr(torch, dtype))


def ran(made: Made, configs: dict[Any, bool]) -> tuple[torch.Tensor, float]:
    func, inputs = made
    with override(check="strict", time=True):
        kernel = T.compile(func, out_idx=[-1], pass_configs=configs)
        found = kernel(*inputs)
    timeline = kernel.timeline()
    assert timeline is not None
    return found, timeline.task_microseconds


def compared(made: Made) -> float:
    """How many times as fast a kernel is by default."""
    expected, before = ran(made, OFF)
    found, after = ran(made, {})
    assert torch.equal(found, expected)
    assert after <= MOST * before
    return before / after


# What becomes one block, and a size with a last tile that is no whole one.
GAINS: list[tuple[Callable[..., Made], tuple[int, int, int, str]]] = [
    (bias, (191, 2, 72, F32)),
    (softmax, (240, 1, 96, F16)),
    (product, (48, 1, 70, F16)),
]


@pytest.mark.parametrize(("make", "sizes"), GAINS, ids=[m.__name__ for m, _ in GAINS])
def test_small_blocks_become_one(
    make: Callable[..., Made], sizes: tuple[int, int, int, str]
) -> None:
    assert compared(make(*sizes)) > 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [F16, F32, "bfloat16", I32, "int8"])
@pytest.mark.parametrize("n", [16, 50])
@pytest.mark.parametrize("per", [1, 3])
@pytest.mark.parametrize("rows", [50, 191])
@pytest.mark.parametrize("make", [bias, softmax, running, chunks, gathered])
def test_forms(make: Callable[..., Made], rows: int, per: int, n: int, dtype: str) -> None:
    floats = make in (softmax, running)
    if (floats and dtype in (I32, "int8")) or (make is running and dtype == "bfloat16"):
        pytest.skip(f"{make.__name__} is of floats")
    if make is running and per > 1 and n % 16:
        pytest.skip("running sums of several rows need whole blocks")
    if dtype in ("int8", "bfloat16") and make in (bias, chunks):
        pytest.skip("no vector instruction adds these")
    compared(make(rows, per, n, dtype))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("rows", "per", "n"), [(50, 1, 32), (96, 2, 100), (97, 3, 33)])
def test_products(rows: int, per: int, n: int) -> None:
    compared(product(rows, per, n, F16))


def blocks_of(made: Made, configs: dict[Any, bool] | None = None) -> Any:
    kernel, _ = made
    alone = {T.PassConfigKey.TL_ASCEND_PERSISTENT: False, **(configs or {})}
    return run_pipeline(kernel, DEFAULT_TARGET, pass_options(alone)).func.launch.blocks


def test_option_keeps_blocks_as_they_are() -> None:
    made = bias(191, 2, 72, F32)
    assert blocks_of(made, OFF) == Const(96)
    assert blocks_of(made) != Const(96)


def test_a_grid_that_runs_at_a_time_stays() -> None:
    assert blocks_of(bias(24, 1, 72, F32)) == Const(24)
