"""Integers of one and two bytes in `T.Parallel`: vector operations over all their values, computed as
in int32 and wrapped where they are stored, without a scalar loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T
from tile_ir import Automatic, Func
from tile_runtime import compile

from .kernel_batch import KernelBatch

STRICT = 2
SHAPES = ((4, 64), (3, 33), (1, 1), (2, 160))
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
Formula = Callable[..., Any]


def wide(x: Any) -> Any:
    return x.astype(np.int64)


# What the kernel says of x, y, a row's value r and the indices, and what NumPy makes of it in int64.
FORMULAS: dict[str, tuple[Formula, Formula]] = {
    "equal": (lambda x, y, r, i, j: T.if_then_else(x == y, 1, 0), lambda x, y, r, i, j: x == y),
    "comparison": (lambda x, y, r, i, j: x > y, lambda x, y, r, i, j: x > y),
    "sum": (lambda x, y, r, i, j: x + y + r, lambda x, y, r, i, j: x + y + r),
    "product": (lambda x, y, r, i, j: x * y, lambda x, y, r, i, j: x * y),
    "left number": (lambda x, y, r, i, j: 1 - x, lambda x, y, r, i, j: 1 - x),
    "negative": (lambda x, y, r, i, j: -x, lambda x, y, r, i, j: -x),
    "bits": (lambda x, y, r, i, j: (x & y) | 3, lambda x, y, r, i, j: (x & y) | 3),
    "xor": (lambda x, y, r, i, j: ~x ^ r, lambda x, y, r, i, j: ~x ^ r),
    "left shift": (lambda x, y, r, i, j: x << 2, lambda x, y, r, i, j: x << 2),
    "right shift": (lambda x, y, r, i, j: x >> 1, lambda x, y, r, i, j: x >> 1),
    "of a sum": (lambda x, y, r, i, j: (x + y) >> 1, lambda x, y, r, i, j: (x + y) >> 1),
    "extremes": (lambda x, y, r, i, j: T.max(T.min(x, y), r), lambda x, y, r, i, j: np.maximum(np.minimum(x, y), r)),
    "limits": (lambda x, y, r, i, j: T.max(T.min(x, 100), 5), lambda x, y, r, i, j: np.maximum(np.minimum(x, 100), 5)),
    "choice": (lambda x, y, r, i, j: T.if_then_else(x > r, x - y, y), lambda x, y, r, i, j: np.where(x > r, x - y, y)),
    "indices": (lambda x, y, r, i, j: x + T.cast(i * 3 + j, x.dtype), lambda x, y, r, i, j: x + i * 3 + j),
    "through int32": (
        lambda x, y, r, i, j: T.cast((T.cast(x, "int32") * T.cast(y, "int32")) >> 4, x.dtype),
        lambda x, y, r, i, j: (x * y) >> 4,
    ),
    "quotient": (lambda x, y, r, i, j: x // 3, lambda x, y, r, i, j: x // 3),
    "rest": (lambda x, y, r, i, j: x % 5 + x % 4, lambda x, y, r, i, j: x % 5 + x % 4),
    "half": (
        lambda x, y, r, i, j: T.cast(T.cast(x, "float32") * 0.5, x.dtype),
        lambda x, y, r, i, j: np.trunc(x * 0.5),
    ),
    "nested": (
        lambda x, y, r, i, j: (x * y + x) * (y - 3) ^ r,
        lambda x, y, r, i, j: (x * y + x) * (y - 3) ^ r,
    ),
    "magnitude": (lambda x, y, r, i, j: abs(x) + T.abs(y - 1), lambda x, y, r, i, j: abs(x) + abs(y - 1)),
    "condition": (
        lambda x, y, r, i, j: T.if_then_else(x * 8 > 200, x + y, -y),
        lambda x, y, r, i, j: np.where(x * 8 > 200, x + y, -y),
    ),
    "sums compared": (lambda x, y, r, i, j: x + y > r - 1, lambda x, y, r, i, j: x + y > r - 1),
    "of a negative": (lambda x, y, r, i, j: -x >> 1, lambda x, y, r, i, j: -x >> 1),
    "large number": (lambda x, y, r, i, j: x + y < 60000, lambda x, y, r, i, j: x + y < 60000),
}  # fmt: skip


def meaning(name: str, dtype: str, x: Any, y: Any, r: Any) -> Any:
    i, j = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])[None, :]
    found = FORMULAS[name][1](wide(x), wide(y), wide(r), i, j)
    return np.asarray(found).astype(np.int64).astype(dtype)


def kernel(formula: Formula, dtype: str, rows: int, columns: int, threads: int) -> Func:
    @T.prim_func
    def k(
        X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype),
        R: T.Tensor((columns,), dtype), Z: T.Tensor((rows, columns), dtype),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads, is_npu=True) as (_):
            x = T.alloc_ub((rows, columns), dtype)
            y = T.alloc_ub((rows, columns), dtype)
            z = T.alloc_ub((rows, columns), dtype)
            r = T.alloc_ub((columns,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            T.copy(R, r)
            for i, j in T.Parallel(rows, columns):
                z[i, j] = formula(x[i, j], y[i, j], r[j], i, j)
            T.copy(z, Z)

    return k


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_narrow_integers_wrap_in_vectors(dtype: str, threads: int, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    rng = np.random.default_rng(17)
    listed, wrong = [], []
    for name, (rows, columns) in kept(itertools.product(FORMULAS, SHAPES)):
        formula, _ = FORMULAS[name]
        number = batch.add(kernel(formula, dtype, rows, columns, threads), AUTOMATIC)
        remarks = [r.message for r in batch.funcs[number].remarks if r.slug == "scalar-loop"]
        if remarks:
            wrong.append(f"{name} {rows}x{columns}: {remarks}")
        listed.append((number, name, rows, columns))
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong)
    batch.build()
    limits = np.iinfo(dtype)
    for number, name, rows, columns in listed:
        x, y = (
            rng.integers(limits.min, limits.max, (rows, columns), dtype, endpoint=True)
            for _ in range(2)
        )
        y[rng.random(y.shape) < 0.2] = limits.min
        x[rng.random(x.shape) < 0.3] = 0
        x = np.where(rng.random(x.shape) < 0.3, y, x)
        r = rng.integers(limits.min, limits.max, (columns,), dtype, endpoint=True)
        outcome = batch.run(number, [x, y, r, np.zeros_like(x)], checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{name} {rows}x{columns}: {outcome.error.text}")
            continue
        want = meaning(name, dtype, x, y, r)
        if not np.array_equal(outcome.arrays[3], want):
            bad = np.flatnonzero(outcome.arrays[3] != want)[:4]
            wrong.append(
                f"{name} {rows}x{columns}: {[(v.flat[bad].tolist()) for v in (x, y, outcome.arrays[3], want)]}"
            )
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:20])


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_sums_on_their_way_to_a_float(dtype: str) -> None:
    """Arithmetic in int32: int16 serves where no value needs more, and only there."""
    rows, columns = 5, 33

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((5, rows, columns), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_shared((rows, columns), dtype)
            y = T.alloc_shared((5, rows, columns), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(rows, columns):
                n = T.cast(x[i, j], "int32")
                y[0, i, j] = T.cast((n >> 4 & 15) - 8, "float32")
                y[1, i, j] = T.cast(n * n, "float32")
                y[2, i, j] = T.cast((n << 7) + n, "float32")
                y[3, i, j] = T.cast((n | 5) * 3 - 32767, "float32")
                y[4, i, j] = T.cast((n & 255) * 128 + 127, "float32")
            T.copy(y, Y)

    limits = torch.iinfo(getattr(torch, dtype))
    x = torch.randint(limits.min, limits.max + 1, (rows, columns)).to(getattr(torch, dtype))
    x[0, :2] = torch.tensor([limits.min, limits.max])
    y = torch.zeros(5, rows, columns)
    compile(kernel)(x, y)
    n = x.int()
    want = (
        ((n >> 4) & 15) - 8,
        n * n,
        (n << 7) + n,
        (n | 5) * 3 - 32767,
        (n & 255) * 128 + 127,
    )
    np.testing.assert_array_equal(y, torch.stack(want).float())
