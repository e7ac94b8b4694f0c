"""How far sine, cosine, tangent, error function and power are off, over the ranges their records state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Func
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted

SIZE = 8192


def unary(name: str, dtype: str) -> Func:
    operation = getattr(T.tile, name)

    @T.prim_func
    def k(X: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((SIZE,), dtype)
            T.copy(X, x)
            T.barrier_all()
            operation(x, x)
            T.barrier_all()
            T.copy(x, Y)

    return k


def power(dtype: str) -> Func:
    @T.prim_func
    def k(X: T.Tensor((SIZE,), dtype), E: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((SIZE,), dtype)
            e = T.alloc_ub((SIZE,), dtype)
            T.copy(X, x)
            T.copy(E, e)
            T.barrier_all()
            T.tile.pow(x, x, e)
            T.barrier_all()
            T.copy(x, Y)

    return k


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    kernels = KernelBatch(tmp_path_factory.mktemp("functions"))
    numbers = {
        (name, dtype): kernels.add(unary(name, dtype))
        for name in ("sin", "cos", "tanh", "erf")
        for dtype in ("float32", "float16")
    }
    for dtype in ("float32", "float16", "int32"):
        numbers["pow", dtype] = kernels.add(power(dtype))
    kernels.build()

    def run(number: int, *arrays: Any) -> Any:
        outcome = kernels.run(number, arrays, checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        return outcome.arrays[-1], interpreted(kernels.funcs[number], arrays)[-1]

    return {key: lambda *a, n=number: run(n, *a) for key, number in numbers.items()}


def angles(dtype: Any) -> Any:
    """The whole range, small numbers, and multiples of a quarter turn, where results cancel."""
    rng = np.random.default_rng(3)
    quarter = SIZE // 4
    values = np.concatenate(
        [
            rng.uniform(-65000, 65000, quarter),
            rng.uniform(-10, 10, quarter),
            np.arange(quarter) * 20 * np.pi / 2,
            10 ** rng.uniform(-6, 4.8, quarter) * rng.choice([-1, 1], quarter),
        ]
    )
    return np.where(np.abs(values) <= 65000, values, 1.0).astype(dtype)


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_waves(batch: Any, name: str, dtype: Any) -> None:
    x = angles(dtype)
    got, _ = batch[name, np.dtype(dtype).name](x, np.zeros_like(x))
    want = getattr(np, name)(x.astype(np.float64))
    unit = np.spacing(np.maximum(np.abs(want), np.finfo(dtype).tiny).astype(dtype))
    distance = np.abs(got.astype(np.float64) - want) / unit.astype(np.float64)
    assert distance.max() < (3 if dtype is np.float32 else 1)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves_of_special_values(batch: Any, name: str) -> None:
    x = np.resize(np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32), SIZE)
    got, _ = batch[name, "float32"](x, np.zeros_like(x))
    assert np.abs(got[:2] - getattr(np, name)(0.0)).max() < 2e-7
    assert np.isnan(got[2:5]).all()


@pytest.mark.parametrize(("name", "ulps"), [("tanh", 6), ("erf", 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_functions_that_level_off(batch: Any, name: str, ulps: int, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    half = SIZE // 2
    x = np.concatenate(
        [rng.uniform(-10, 10, half), 10 ** rng.uniform(-6, 4, half) * rng.choice([-1, 1], half)]
    ).astype(dtype)
    x[:3] = [np.inf, -np.inf, np.nan]
    got, _ = batch[name, np.dtype(dtype).name](x, np.zeros_like(x))
    want = np.array([getattr(math, name)(float(v)) for v in x])
    assert np.isnan(got[2]) and np.abs(got[3:]).max() <= 1
    want, got = np.delete(want, 2), np.delete(got, 2)
    unit = np.spacing(np.maximum(np.abs(want), np.finfo(dtype).tiny).astype(dtype))
    distance = np.abs(got.astype(np.float64) - want) / unit.astype(np.float64)
    assert distance.max() < (ulps if dtype is np.float32 else 1)


SPECIAL = (
    0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 3, -3, 0.5, -0.5, 1.5, -2.5, 65504, -7, 1e-7,
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_float_powers(batch: Any, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(SIZE) * rng.choice([0.01, 1, 8, 100], SIZE)
    y = rng.standard_normal(SIZE) * rng.choice([0.1, 1, 8], SIZE)
    y[::3] = np.rint(y[::3])
    bases, exponents = np.meshgrid(SPECIAL, SPECIAL)
    x[: bases.size], y[: bases.size] = bases.reshape(-1), exponents.reshape(-1)
    x, y = x.astype(dtype), y.astype(dtype)
    got, want = (a.astype(np.float64) for a in batch["pow", np.dtype(dtype).name](x, y, x))
    with np.errstate(all="ignore"):
        growth = np.abs(y.astype(np.float64) * np.log(np.abs(x.astype(np.float64))))
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        # What over- and underflows a little earlier or later is not a matter of ulps.
        near_limit = (np.abs(exact) > np.finfo(dtype).max * 0.999) & np.isfinite(exact)
        near_limit |= (np.abs(exact) < np.finfo(dtype).tiny) & (exact != 0)
        regular = np.isfinite(want) & (want != 0) & ~near_limit
        error = np.abs(got - want)[regular] / np.abs(want)[regular]
        bound = (2 + np.nan_to_num(growth[regular], nan=0.0)) * 2.0**-23 + (
            2.0**-10 if dtype is np.float16 else 0
        )
    assert (error <= bound).all()
    others = ~regular & ~near_limit
    assert np.array_equal(got[others], want[others], equal_nan=True)


def test_integer_powers(batch: Any) -> None:
    """Exactly, wrapping, for any exponent."""
    rng = np.random.default_rng(6)
    x = rng.integers(-12, 12, SIZE, dtype=np.int32)
    y = rng.integers(-4, 40, SIZE, dtype=np.int32)
    x[:6], y[:6] = [2**31 - 1, -(2**31), 1, -1, 0, 0], [7, 1, -(2**31), -3, 0, -1]
    got, want = batch["pow", "int32"](x, y, x)
    assert np.array_equal(got, want)
    small = (y >= 0) & (np.abs(x.astype(float)) ** np.maximum(y, 0) < 2.0**31)
    exact = np.array([int(a) ** int(b) for a, b in zip(x[small], y[small], strict=True)])
    assert np.array_equal(got[small], exact)
    assert small.sum() > 1000
