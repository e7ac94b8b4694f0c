"""Stores at an index with two loop variables as its digits, to columns, and of what levels off,
against NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import jit

Array = Any


@jit(out_idx=[-1])
def interleaved(rows: int, size: int, number: int, dtype: str) -> Any:
    """Rows of which `number` take turns in a row of the result."""

    @T.prim_func
    def k(X: T.Tensor((rows * number, size), dtype), Y: T.Tensor((rows, size * number), dtype)):
        with T.Kernel(1, threads=2, is_npu=True):
            x = T.alloc_shared((rows * number, size), dtype)
            y = T.alloc_shared((rows, size * number), dtype)
            T.copy(X, x)
            for r, w, s in T.Parallel(rows, size, number):
                y[r, w * number + s] = x[r * number + s, w]
            T.copy(y, Y)

    return k


@jit(out_idx=[-1])
def split(rows: int, size: int, number: int, dtype: str) -> Any:
    """Every `number`-th element of a row in a run of the result, from the last one on."""

    @T.prim_func
    def k(X: T.Tensor((rows, size * number), dtype), Y: T.Tensor((rows, size * number), dtype)):
        with T.Kernel(1, threads=1, is_npu=True):
            x = T.alloc_shared((rows, size * number), dtype)
            y = T.alloc_shared((rows, size * number), dtype)
            T.copy(X, x)
            for r, s, w in T.Parallel(rows, number, size):
                y[r, size * number - 1 - (s * size + w)] = x[r, w * number + s]
            T.copy(y, Y)

    return k


def turns(x: Array, number: int) -> Array:
    rows, size = x.shape
    parts = x.reshape(rows // number, number, size).transpose(0, 2, 1)
    return parts.reshape(rows // number, size * number)


def parts(x: Array, number: int) -> Array:
    rows, size = x.shape
    return x.reshape(rows, -1, number).transpose(0, 2, 1).reshape(rows, size)[:, ::-1]


def exhaustive(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("rows", "size", "number", "dtype"),
    [
        (4, 24, 2, "float16"),
        (3, 21, 3, "float32"),
        exhaustive(1, 64, 4, "int32"),
        exhaustive(5, 1, 2, "float32"),
    ],
)
@pytest.mark.parametrize(("kernel", "meaning"), [(interleaved, turns), (split, parts)])
def test_equals_numpy(
    kernel: Any, meaning: Callable[..., Array], rows: int, size: int, number: int, dtype: str
) -> None:
    shape = (rows * number, size) if kernel is interleaved else (rows, size * number)
    x = np.arange(rows * size * number).reshape(shape).astype(dtype)
    with override(check="strict"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both vector cores may do the same
        made = kernel(rows, size, number, dtype)(torch.from_numpy(x))
    assert np.array_equal(made.numpy(), meaning(x, number))


@jit(out_idx=[-1])
def columns(rows: int, width: int, number: int, dtype: str) -> Any:
    """Columns of a tile from the fourth on, and the first one."""

    @T.prim_func
    def k(
        X: T.Tensor((number, rows), dtype),
        Z: T.Tensor((rows, width), dtype),
        Y: T.Tensor((rows, width), dtype),
    ):
        with T.Kernel(1, threads=2, is_npu=True):
            x = T.alloc_shared((rows,), dtype)
            y = T.alloc_shared((rows, width), dtype)
            T.copy(Z, y)
            for g in T.serial(number):
                T.copy(X[g, 0], x)
                for i in T.Parallel(rows):
                    y[i, g + 3] = x[i] * 2
            for i in T.Parallel(rows):
                y[i, 0] = 5
            T.copy(y, Y)

    return k


@pytest.mark.parametrize(
    ("rows", "width", "number", "dtype"),
    [
        (19, 16, 5, "float32"),
        exhaustive(300, 32, 9, "float16"),
        exhaustive(16, 24, 1, "int32"),
        exhaustive(33, 16, 2, "int16"),
    ],
)
def test_columns_of_a_tile(rows: int, width: int, number: int, dtype: str) -> None:
    x = np.arange(number * rows).reshape(number, rows).astype(dtype)
    y = np.full((rows, width), -1).astype(dtype)
    with override(check="strict"):
        made = columns(rows, width, number, dtype)(torch.from_numpy(x), torch.from_numpy(y))
    y[:, 3 : 3 + number], y[:, 0] = x.T * 2, 5
    assert np.array_equal(made.numpy(), y)


@jit(out_idx=[-1])
def levelled(n: int) -> Any:
    @T.prim_func
    def k(X: T.Tensor((n,), "float32"), Y: T.Tensor((5, n), "float32")):
        with T.Kernel(1, threads=1, is_npu=True):
            x = T.alloc_shared((n,), "float32")
            y = T.alloc_shared((5, n), "float32")
            T.copy(X, x)
            for j in T.Parallel(n):
                y[0, j] = 1.0 + T.tanh(x[j])
                y[1, j] = 1.0 - T.tanh(0.5 * x[j])
                y[2, j] = 0.5 * x[j] * (1.0 + T.tanh(0.79 * x[j]))
                y[3, j] = x[j] * T.sigmoid(1.702 * x[j])
                y[4, j] = x[j] * T.tanh(x[j])
            T.copy(y, Y)

    return k


def test_what_levels_off_is_as_near_as_its_functions() -> None:
    edges = [0.0, -0.0, 1e-30, 88.0, -88.0, 1e4, -1e4, 3e38, -3e38, np.inf, -np.inf, np.nan]
    x = np.concatenate([edges, np.linspace(-12, 12, 301)]).astype(np.float32)
    with override(check="strict"):
        found = levelled(len(x))(torch.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        z = x.astype(np.float64)
        expected = np.stack([
            1 + np.tanh(z), 1 - np.tanh(0.5 * z), 0.5 * z * (1 + np.tanh(0.79 * z)),
            z / (1 + np.exp(-1.702 * z)), z * np.tanh(z),
        ])  # fmt: skip
    infinite = ~np.isfinite(x)
    assert np.allclose(found[:, ~infinite], expected[:, ~infinite], rtol=3e-6, atol=3e-7)
    assert np.array_equal(found[:, x == np.inf], [[2], [0], [np.inf], [np.inf], [np.inf]])
    assert np.isnan(found[:, np.isnan(x)]).all()


@jit(out_idx=[-1])
def moved_columns(rows: int, number: int, dtype: str) -> Any:
    """Each column of a narrow tile in the place of the one before, twice; in blocks of 32 rows."""

    @T.prim_func
    def k(X: T.Tensor((rows, number), dtype), Y: T.Tensor((rows, number), dtype)):
        with T.Kernel(2, threads=64) as b:
            x = T.alloc_shared((32, number), dtype)
            for n in T.Pipelined(T.ceildiv(rows, 64), num_stages=2):
                row = (n * 2 + b) * 32
                T.copy(X[row, 0], x)
                for i in T.Parallel(32):
                    first = x[i, 0]
                    last = x[i, 1]
                    x[i, 0] = last * 2
                    if number == 3:
                        x[i, 2] = x[i, 2] + first
                    x[i, 1] = first * 2
                T.copy(x, Y[row, 0])

    return k


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8"])
def test_columns_that_are_stored_in_turn(dtype: str) -> None:
    x = torch.randint(-9, 9, (90, 2)).to(getattr(torch, dtype))
    with override(check="strict"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = moved_columns(90, 2, dtype)(x)
    assert torch.equal(found, x.flip(1) * 2)
    assert not [w for w in caught if "[scalar-loop]" in str(w.message)]


def test_a_column_that_depends_on_itself_is_stored_alone() -> None:
    x = torch.randint(-9, 9, (90, 3)).int()
    with override(check="strict"):
        found = moved_columns(90, 3, "int32")(x)
    assert torch.equal(found, torch.stack([x[:, 1] * 2, x[:, 0] * 2, x[:, 2] + x[:, 0]], 1))
