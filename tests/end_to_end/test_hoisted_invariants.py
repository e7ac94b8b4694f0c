"""Interpreted, a kernel gives the same with invariants in front of its loops, bit by bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic, For, Func, Op, walk
from tile_ir.interpreter import interpret
from tile_passes import PASSES, apply_passes, run_pipeline
from tile_passes.pipeline import taken_to
from tile_runtime.options.pass_configs import pass_options

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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rounds", [3, 4])
def test_a_number_loaded_on_the_way_to_its_tile_stays_for_all_rounds(
    rounds: int, threads: int
) -> None:
    """`G[0]` comes by way of memory of one operation, which the last rounds read as well."""
    columns = 64

    @T.prim_func
    def k(
        G: T.Tensor((8,), "int8"), B: T.Tensor((rounds, columns), "int8"),
        X: T.Tensor((rounds, columns), "int8"), Y: T.Tensor((rounds, columns), "int8"),
        Z: T.Tensor((rounds, columns), "int8"),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads) as bx:
            x = T.alloc_shared((1, columns), "int8")
            y = T.alloc_shared((1, columns), "int8")
            z = T.alloc_shared((columns,), "int8")
            for r in T.serial(rounds):
                T.copy(X[r : r + 1, 0:columns], x)
                for j in T.Parallel(columns):
                    z[j] = B[r, j] + 1
                for i, j in T.Parallel(1, columns):
                    y[i, j] = T.max(x[i, j], T.max(G[i], z[j]))
                T.copy(y, Y[r : r + 1, 0:columns])
                T.copy(x, Z[r : r + 1, 0:columns])

    rng = np.random.default_rng(0)
    g, b, x = (
        rng.integers(-9, 9, s).astype(np.int8) for s in (8, (rounds, columns), (rounds, columns))
    )
    y, z = np.zeros_like(x), np.zeros_like(x)
    interpret(run_pipeline(k, DEFAULT_TARGET, pass_options({})).func, [g, b, x, y, z])
    assert np.array_equal(y, np.maximum(x, np.maximum(g[0], b + 1)))


def test_what_a_second_name_changes_stays_in_the_loop() -> None:
    """The bytes of `t` change through `v` in every round."""

    @T.prim_func
    def k(
        X: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((64,), "float32"),
        Y: T.Tensor((ROWS, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1) as bx:
            t = T.alloc_shared((64,), "float32")
            s = T.alloc_shared((64,), "float32")
            v = T.view(t, (1, 64))
            T.copy(B, t)
            for r in T.serial(ROWS):
                for j in T.Parallel(64):
                    s[j] = t[j] * 2
                T.copy(s, Y[r, 0:64])
                T.copy(X[r : r + 1, 0:64], v)

    rng = np.random.default_rng(0)
    x, b = (rng.integers(-9, 9, s).astype(np.float32) for s in ((ROWS, 64), (64,)))
    y = np.zeros_like(x)
    interpret(run_pipeline(k, DEFAULT_TARGET, pass_options({})).func, [x, b, y])
    assert np.array_equal(y, np.concatenate([b[None], x[:-1]]) * 2)


def test_a_reduction_of_magnitudes_has_a_result_in_every_round() -> None:
    """It writes its result by another name than it is read by."""

    @T.prim_func
    def k(X: T.Tensor((ROWS, 64), "float32"), Y: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            t = T.alloc_fragment((1, 64), "float32")
            m = T.alloc_fragment((1,), "float32")
            for r in T.serial(ROWS):
                T.copy(X[r, 0], t)
                T.reduce_absmax(t, m, dim=1)
                T.copy(m, Y[r])

    x, y = np.random.default_rng(0).standard_normal((ROWS, 64)).astype(np.float32), np.zeros(ROWS)
    y = y.astype(np.float32)
    interpret(run_pipeline(k, DEFAULT_TARGET, pass_options({})).func, [x, y])
    assert np.array_equal(y, np.abs(x).max(axis=1))
