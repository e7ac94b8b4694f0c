"""Fills of an odd number of bytes, in runs, rows, slices and at sizes of run time, by hand and by
`T.Parallel`; nothing beside them is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Automatic, Func

from .kernel_batch import KernelBatch

STRICT = 2
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
SHAPES = ((1,), (3,), (33,), (64,), (3, 33), (2, 3), (5, 1), (1, 33), (3, 3, 5))
# Of a tile of 4 rows of 64 bytes.
SLICES = (
    ((0, 4), (0, 33)),
    ((1, 3), (32, 63)),
    ((2, 3), (0, 1)),
    ((0, 3), (0, 64)),
    ((1, 2), (0, 3)),
)


def whole(shape: tuple[int, ...], dtype: str, value: int, clear: bool) -> Func:
    @T.prim_func
    def k(X: T.Tensor(shape, dtype), Y: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub(shape, dtype)
            y = T.alloc_ub(shape, dtype)
            T.copy(X, x)
            T.barrier_all()
            T.copy(x, y)
            T.pipe_barrier("v")
            if clear:
                T.tile.clear(x)
            else:
                T.tile.fill(x, value)
            T.barrier_all()
            T.copy(x, X)
            T.copy(y, Y)

    return k


def part(rows: tuple[int, int], columns: tuple[int, int], dtype: str) -> Func:
    (top, bottom), (left, right) = rows, columns

    @T.prim_func
    def k(X: T.Tensor((4, 64), dtype), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((4, 64), dtype)
            T.copy(X, x)
            T.barrier_all()
            T.tile.fill(x[top:bottom, left:right], n)
            T.barrier_all()
            T.copy(x, X)

    return k


def run_time(dtype: str) -> Func:
    @T.prim_func
    def k(X: T.Tensor((64,), dtype), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((64,), dtype)
            T.copy(X, x)
            T.barrier_all()
            T.tile.fill(x[0:n], n)
            T.barrier_all()
            T.copy(x, X)

    return k


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_are_filled(dtype: str, automatic: bool, tmp_path: Path) -> None:
    batch, order = KernelBatch(tmp_path), AUTOMATIC if automatic else ()
    cases = [
        (batch.add(whole(shape, dtype, 7, clear), order), shape, clear)
        for shape in SHAPES
        for clear in (False, True)
    ]
    parts = [(batch.add(part(*cut, dtype), order), cut) for cut in SLICES]
    number_of_run_time = batch.add(run_time(dtype), order)
    batch.build()
    rng = np.random.default_rng(2)
    for number, shape, clear in cases:
        x = rng.integers(1, 99, shape).astype(dtype)
        outcome = batch.run(number, [x, np.zeros_like(x)], checks=STRICT)
        assert outcome.error is None, (shape, outcome.error.text)
        assert (outcome.arrays[0] == (0 if clear else 7)).all(), (shape, outcome.arrays[0])
        assert np.array_equal(outcome.arrays[1], x), shape
    for number, (rows, columns) in parts:
        x = rng.integers(1, 99, (4, 64)).astype(dtype)
        outcome = batch.run(number, [x, 5], checks=STRICT)
        assert outcome.error is None, (rows, columns, outcome.error.text)
        want = x.copy()
        want[slice(*rows), slice(*columns)] = 5
        assert np.array_equal(outcome.arrays[0], want), (rows, columns)
    for n in (0, 1, 2, 33, 63, 64):
        x = rng.integers(70, 99, (64,)).astype(dtype)
        outcome = batch.run(number_of_run_time, [x, n], checks=STRICT)
        assert outcome.error is None, (n, outcome.error.text)
        want = x.copy()
        want[:n] = n
        assert np.array_equal(outcome.arrays[0], want), n
