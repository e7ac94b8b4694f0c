"""Functions, comparisons and loop variables in `T.Parallel` as scripts write them: vector
operations without a scalar loop, and what NumPy makes of the same formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import running

import tile_frontend as T
from tile_ir import Automatic, Func
from tile_ir.dtypes import DTYPES, from_bytes, to_bytes

from .kernel_batch import KernelBatch, interpreted, lower

ROWS, COLUMNS = 6, 48


@dataclass(frozen=True)
class Formula:
    """A formula of an element x, another one y, a row value r, a column value c, and the loop
    variables; `loose` is how far the result may be off, relatively."""

    name: str
    kernel: Callable[..., Any]
    numpy: Callable[..., Any]
    loose: float = 0.0
    dtypes: tuple[str, ...] = ("float32", "float16")


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf)(x)


FORMULAS = (
    Formula("tanh", lambda x, y, r, c, i, j: T.tanh(x), lambda x, *_: np.tanh(x), 5e-7),
    Formula("erf", lambda x, y, r, c, i, j: T.erf(x), lambda x, *_: _erf(x), 6e-7),
    Formula("sin", lambda x, y, r, c, i, j: T.sin(x), lambda x, *_: np.sin(x), 4e-7),
    Formula("cos", lambda x, y, r, c, i, j: T.cos(x) + 2.0, lambda x, *_: np.cos(x) + 2, 4e-7),
    Formula("exp2", lambda x, y, r, c, i, j: T.exp2(x), lambda x, *_: np.exp2(x), 1e-6),
    Formula("log2", lambda x, y, r, c, i, j: T.log2(y) + 9, lambda x, y, *_: np.log2(y) + 9, 3e-7),
    Formula(
        "log10", lambda x, y, r, c, i, j: T.log10(y) + 9, lambda x, y, *_: np.log10(y) + 9, 3e-7
    ),
    Formula(
        "sigmoid", lambda x, y, r, c, i, j: T.sigmoid(x), lambda x, *_: 1 / (1 + np.exp(-x)), 5e-7
    ),
    Formula("pow", lambda x, y, r, c, i, j: T.pow(y, x), lambda x, y, *_: y**x, 4e-6),
    Formula("pow of builtin", lambda x, y, r, c, i, j: pow(y, 1.5), lambda x, y, *_: y**1.5, 4e-6),
    Formula("square", lambda x, y, r, c, i, j: (x + y) ** 2, lambda x, y, *_: (x + y) ** 2, 2e-7),
    Formula("fifth", lambda x, y, r, c, i, j: x**5, lambda x, *_: x**5, 5e-7),
    Formula("inverse square", lambda x, y, r, c, i, j: y**-2, lambda x, y, *_: y**-2.0, 5e-7),
    Formula("root", lambda x, y, r, c, i, j: y**0.5, lambda x, y, *_: np.sqrt(y), 2e-7),
    Formula("power of two", lambda x, y, r, c, i, j: 2**x, lambda x, *_: 2**x, 1e-6),
    Formula("round", lambda x, y, r, c, i, j: round(x * 4), lambda x, *_: np.rint(x * 4), 0),
    Formula(
        "floor", lambda x, y, r, c, i, j: T.floor(x) + T.ceil(x) + T.trunc(x),
        lambda x, *_: np.floor(x) + np.ceil(x) + np.trunc(x),
    ),
    Formula("left scalar", lambda x, y, r, c, i, j: 1 - x, lambda x, *_: 1 - x, 1e-7),
    Formula("left divided", lambda x, y, r, c, i, j: 2 / y, lambda x, y, *_: 2 / y, 1e-7),
    Formula("abs", lambda x, y, r, c, i, j: abs(x), lambda x, *_: np.abs(x)),
    Formula(
        "three", lambda x, y, r, c, i, j: T.max(0.25, x, T.min(y, c, 2)),
        lambda x, y, r, c, *_: np.maximum(0.25, np.maximum(x, np.minimum(np.minimum(y, c), 2))),
    ),
    Formula("comparison", lambda x, y, r, c, i, j: x > 0, lambda x, *_: x > 0),
    Formula(
        "relu of a condition", lambda x, y, r, c, i, j: T.if_then_else(x > r, x, 0),
        lambda x, y, r, *_: np.where(x > r, x, 0),
    ),
    Formula(
        "left row", lambda x, y, r, c, i, j: (r - x) * (c / y),
        lambda x, y, r, c, *_: (r - x) * (c / y), 3e-7,
    ),
    Formula(
        "rows and columns", lambda x, y, r, c, i, j: T.max((x - r) * c + r / c, T.min(x, c)),
        lambda x, y, r, c, *_: np.maximum((x - r) * c + r / c, np.minimum(x, c)), 1e-6,
    ),
    Formula(
        "rows of integers", lambda x, y, r, c, i, j: T.max((x - r) * c + r, T.min(x, c)),
        lambda x, y, r, c, *_: np.maximum((x - r) * c + r, np.minimum(x, c)),
        dtypes=("int32", "int16"),
    ),
    Formula(
        "shared", lambda x, y, r, c, i, j: (x * y + r) * (x * y - c) + x * y,
        lambda x, y, r, c, *_: (x * y + r) * (x * y - c) + x * y, 1e-6,
    ),
    Formula(
        "causal", lambda x, y, r, c, i, j: T.if_then_else(2 * 8 + j > 20 + i, -1000.0, x),
        lambda x, y, r, c, i, j: np.where(16 + j > 20 + i, -1000.0, x),
    ),
    Formula(
        "window",
        lambda x, y, r, c, i, j: T.Select(T.And(j >= i * 3, j < i * 3 + 9), x, -T.infinity(x.dtype)),
        lambda x, y, r, c, i, j: np.where((j >= i * 3) & (j < i * 3 + 9), x, -np.inf),
    ),
    Formula(
        "positions", lambda x, y, r, c, i, j: x + T.cast(i * 48 + j, x.dtype),
        lambda x, y, r, c, i, j: x + (i * 48 + j), 1e-7, ("float32", "int32"),
    ),
    Formula(
        "tile of a position", lambda x, y, r, c, i, j: T.cast(j // 16 * 10 + j % 7 - i // 5, "int32"),
        lambda x, y, r, c, i, j: j // 16 * 10 + j % 7 - i // 5, 0, ("float32", "int32", "float16"),
    ),
    Formula(
        "both in bfloat16", lambda x, y, r, c, i, j: T.max(x * r, y) + c,
        lambda x, y, r, c, *_: np.maximum(x * r, y) + c, 0.02, ("bfloat16",),
    ),
    Formula(
        "through integers", lambda x, y, r, c, i, j: T.cast(T.cast(x * 3, "int32") + 1, "float32"),
        lambda x, *_: np.trunc(x * 3) + 1,
    ),
)  # fmt: skip


def kernel(formula: Formula, dtype: str) -> Func:
    value = formula.kernel

    @T.prim_func
    def k(
        X: T.Tensor((ROWS, COLUMNS), dtype), Y: T.Tensor((ROWS, COLUMNS), dtype),
        R: T.Tensor((ROWS,), dtype), C: T.Tensor((COLUMNS,), dtype),
        Z: T.Tensor((ROWS, COLUMNS), dtype),
    ):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((ROWS, COLUMNS), dtype)
            y = T.alloc_ub((ROWS, COLUMNS), dtype)
            z = T.alloc_ub((ROWS, COLUMNS), dtype)
            r = T.alloc_ub((ROWS,), dtype)
            c = T.alloc_ub((COLUMNS,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            T.copy(R, r)
            T.copy(C, c)
            T.barrier_all()
            for i, j in T.Parallel(ROWS, COLUMNS):
                z[i, j] = value(x[i, j], y[i, j], r[i], c[j], i, j)
            T.barrier_all()
            T.copy(z, Z)

    return k


def data(dtype: str) -> list[Any]:
    rng = np.random.default_rng(11)
    shapes = ((ROWS, COLUMNS), (ROWS, COLUMNS), (ROWS,), (COLUMNS,), (ROWS, COLUMNS))
    if DTYPES[dtype].is_integer:
        return [rng.integers(-9, 9, s).astype(dtype) for s in shapes]
    values = [rng.uniform(-2, 2, s) for s in shapes]
    values[1:4] = [np.abs(v) + 0.25 for v in values[1:4]]
    return [to_bytes(v, DTYPES[dtype]) for v in values]


LISTED = [(formula, dtype) for formula in FORMULAS for dtype in formula.dtypes]


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[KernelBatch, dict[int, int]]:
    kernels = KernelBatch(tmp_path_factory.mktemp("formulas"))
    places = {
        number: kernels.add(kernel(*LISTED[number]))
        for number in sorted(running(request, "number"))
    }
    kernels.build()
    return kernels, places


@pytest.mark.parametrize("number", range(len(LISTED)), ids=[f"{f.name}-{d}" for f, d in LISTED])
def test_formula(batch: tuple[KernelBatch, dict[int, int]], number: int) -> None:
    kernels, places = batch
    formula, dtype = LISTED[number]
    arrays, element = data(dtype), DTYPES[dtype]
    lowered = kernels.funcs[places[number]]
    assert not [r.message for r in lowered.remarks if r.slug == "scalar-loop"]
    outcome = kernels.run(places[number], arrays, checks=2)
    assert outcome.error is None, outcome.error.text
    got = np.asarray(from_bytes(outcome.arrays[-1], element), np.float64)
    i, j = np.indices((ROWS, COLUMNS))
    x, y, r, c, _ = (np.asarray(from_bytes(a, element), np.float64) for a in arrays)
    want = np.asarray(formula.numpy(x, y, r[:, None], c[None, :], i, j), np.float64)
    loose = max(formula.loose, 0.01 if dtype == "float16" and formula.loose else 0.0)
    assert np.allclose(got, want, rtol=loose, atol=loose), np.abs(got - want).max()
    model = from_bytes(interpreted(lowered, arrays)[-1], element)
    assert np.allclose(got, np.asarray(model, np.float64), rtol=loose, atol=loose)


@pytest.mark.parametrize(("rows", "columns"), [(24, 800), (16, 1200), (7, 3000)])
def test_as_many_rows_at_a_time_as_there_is_room_for(
    rows: int, columns: int, tmp_path: Path
) -> None:
    batch = KernelBatch(tmp_path)
    number = batch.add(_filling(rows, columns), (Automatic.SYNC, Automatic.MEMORY))
    (told,) = [r for r in batch.funcs[number].remarks if r.slug == "rows-in-pieces"]
    assert "rows at a time" in told.message and f"`x` {rows * columns * 4}" in told.message
    batch.build()
    x = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)
    outcome = batch.run(number, [x, np.zeros_like(x)], checks=2)
    assert outcome.error is None, outcome.error.text
    np.testing.assert_allclose(outcome.arrays[1], np.tanh(x) + np.exp(x) * x, rtol=1e-4, atol=1e-5)


def test_a_full_ub_is_said_to_be_full() -> None:
    lowered = lower(_filling(4, 6000), False, (Automatic.SYNC, Automatic.MEMORY))
    (told,) = [r for r in lowered.remarks if r.slug == "scalar-loop"]
    assert "does not fit the 0 left in ub" in told.message
    assert told.hint == "smaller tiles leave room"


def _filling(rows: int, columns: int) -> Func:
    """A statement whose steps need tiles beside two that take most of ub."""

    @T.prim_func
    def k(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((rows, columns), "float32")
            y = T.alloc_ub((rows, columns), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(rows, columns):
                y[i, j] = T.tanh(x[i, j]) + T.exp(x[i, j]) * x[i, j]
            T.copy(y, Y)

    return k
