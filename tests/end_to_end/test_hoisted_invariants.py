"""Interpreted, a kernel gives the same with invariants in front of its loops, bit by bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic, For, Func, Op, walk
from tile_ir.interpreter import interpret
from tile_passes import PASSES, apply_passes
from tile_passes.pipeline import taken_to

ROWS = 6


def scaled(columns: int, start: int, trips: int, dtype: str) -> Func:
    """Rows times a weight loaded and converted in the loop, shifted by two, under a condition."""

    @T.prim_func
    def k(
        X: T.Tensor((ROWS, columns), dtype),
        W: T.Tensor((columns,), "float16"),
        Y: T.Tensor((ROWS, columns), "float32"),
    ):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_shared((1, columns + 16), dtype)
            w = T.alloc_shared((columns,), "float16")
            y = T.alloc_shared((1, columns), "float32")
            total = T.alloc_shared((1, columns), "float32")
            T.clear(total)
            T.clear(x)
            for t in T.serial(start, start + trips):
                if t < ROWS:
                    T.copy(X[t, 0], x[0:1, 0:columns])
                    T.copy(W, w)
                    for i, j in T.Parallel(1, columns):
                        y[i, j] = x[i, j] * w[j] + x[i, j + 2] / 3.0
                        total[i, j] = total[i, j] + y[i, j] * (w[j] + 1.0)
                    T.copy(total, Y[t, 0])

    return k


def hoisted(func: Func) -> tuple[Func, Func]:
    """A function that leaves all to the compiler, before the pass and behind it."""
    left = func.automatic | {Automatic.SYNC, Automatic.MEMORY}
    before = taken_to(replace(func, automatic=left), PASSES["hoist_invariants"], DEFAULT_TARGET)
    return before, apply_passes(before, ["hoist_invariants"], DEFAULT_TARGET)


def results(func: Func, columns: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 8, (ROWS, columns)).astype(dtype)
    w = rng.standard_normal(columns).astype(np.float16)
    y = np.full((ROWS, columns), 7, np.float32)
    interpret(func, [x, w, y])
    return y


def in_loops(func: Func) -> int:
    loops = [s for s in walk(func.launch.body) if isinstance(s, For)]
    return sum(isinstance(s, Op) for loop in loops for s in walk(loop.body))


CASES = [
    (64, 0, 6, "float32"), (50, 0, 5, "float16"), (13, 2, 3, "float16"),
    (8, 5, 1, "float32"), (72, 4, 5, "float32"), (32, 3, 0, "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "start", "trips", "dtype"), CASES)
def test_results_stay(columns: int, start: int, trips: int, dtype: str) -> None:
    before, after = hoisted(scaled(columns, start, trips, dtype))
    expected = results(before, columns, dtype)
    assert np.array_equal(results(after, columns, dtype), expected)


def test_what_no_iteration_changes_leaves_the_loop() -> None:
    before, after = hoisted(scaled(64, 0, 6, "float32"))
    assert in_loops(after) < in_loops(before)


def sums_of_rows(tiles: int, width: int) -> Func:
    """Sums over the last of three dimensions, which an operation writes under another name of their
    tile."""

    @T.prim_func
    def k(
        X: T.Tensor((ROWS, width, width), "float32"),
        Y: T.Tensor((ROWS, width), "float32"),
    ):
        with T.Kernel(1, threads=128) as cid:
            x = T.alloc_shared((tiles, width, width), "float32")
            s = T.alloc_shared((tiles, width), "float32")
            T.copy(X[0, 0, 0], x)
            T.reduce_sum(x, s, dim=2)
            for t in T.serial(3):
                for i, j, c in T.Parallel(tiles, width, width):
                    x[i, j, c] = x[i, j, c] - s[i, j]
                T.reduce_sum(x, s, dim=2)
                T.copy(s[0:1, 0:width], Y[t, 0])

    return k


@pytest.mark.parametrize(("tiles", "width"), [(1, 8), (2, 8), (3, 16), (2, 5)])
def test_bytes_with_two_names_change_under_both(tiles: int, width: int) -> None:
    before, after = hoisted(sums_of_rows(tiles, width))
    x = np.random.default_rng(1).integers(-4, 5, (ROWS, width, width)).astype(np.float32)
    found = []
    for func in (before, after):
        y = np.zeros((ROWS, width), np.float32)
        interpret(func, [x, y])
        found.append(y)
    part = x[0].copy()
    for t in range(3):
        part = part - part.sum(1, keepdims=True)
        assert np.array_equal(found[0][t], part.sum(1))
    assert np.array_equal(*found)
