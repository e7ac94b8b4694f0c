"""Calls as scripts write them, positional and by keyword, ordered by barriers of the vector pipe
alone: nothing races, and the results are those of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted

ROWS, COLUMNS = 16, 64
EXPECTED: dict[str, Callable[[Any, Any], Any]] = {}
KERNELS: list[Func] = []


def case(name: str, expected: Callable[[Any, Any], Any], dtype: str = "float32") -> Any:
    """A kernel that changes `y`, given a matrix `x` and a column `s`, with one named step."""

    def make(step: Callable[..., None]) -> None:
        @T.prim_func
        def k(X: T.Tensor((ROWS, COLUMNS), dtype), S: T.Tensor((ROWS,), dtype), n: T.int32,
              Y: T.Tensor((ROWS, COLUMNS), dtype)):  # fmt: skip
            with T.Kernel(1, threads=1, is_npu=True) as (cid):
                x = T.alloc_ub((ROWS, COLUMNS), dtype)
                y = T.alloc_ub((ROWS, COLUMNS), dtype)
                s = T.alloc_ub((ROWS,), dtype)
                blocks = T.alloc_ub((ROWS, 8), dtype)
                T.copy(X, x)
                T.copy(X, y)
                T.copy(S, s)
                T.tile.fill(blocks, 0)
                T.barrier_all()
                step(x, y, s, blocks, n)
                T.barrier_all()
                T.copy(y, Y)

        EXPECTED[name] = expected
        KERNELS.append(k)

    return make


@case("clamp", lambda x, s: np.clip(x, -0.5, 0.75) * 2)
@T.macro
def clamp_whole(x, y, s, blocks, n):
    T.tile.clamp(y, x, -0.5, 0.75, ROWS * COLUMNS)
    T.pipe_barrier("v")
    T.tile.mul(y, y, 2.0)


@case("clamp-rows", lambda x, s: np.vstack([np.clip(x[:4], -1, 1), x[4:]]))
@T.macro
def clamp_rows(x, y, s, blocks, n):
    for i in T.serial(4):
        T.tile.clamp(y[i, :], y[i, :], -1.0, 1.0, COLUMNS)


@case("round", lambda x, s: np.rint(x * 3) + s[:, None])
@T.macro
def round_part(x, y, s, blocks, n):
    T.tile.mul(y, x, 3.0)
    T.pipe_barrier("v")
    T.tile.round(y, y, ROWS * COLUMNS)
    T.pipe_barrier("v")
    T.tile.broadcast(x, s, axis=1)
    T.pipe_barrier("v")
    T.tile.add(y, y, x)


@case("row-expand", lambda x, s: (x * s[:, None] - s[:, None]) / s[:, None])
@T.macro
def row_expand(x, y, s, blocks, n):
    T.tile.row_expand_mul(y, x, s)
    T.pipe_barrier("v")
    T.tile.brcb_experiment(blocks, s, ROWS // 8, 1, 8)
    T.pipe_barrier("v")
    for c in T.serial(2):
        T.tile.row_expand_sub_experiment(
            y[:, c * 32 : (c + 1) * 32], y[:, c * 32 : (c + 1) * 32], blocks
        )
    T.pipe_barrier("v")
    T.tile.row_expand_div_experiment(y, y, s, blocks)


@case("counts", lambda x, s: np.minimum(np.abs(x - x[::-1]), 0.5))
@T.macro
def counted(x, y, s, blocks, n):
    for i in T.serial(ROWS):
        T.tile.sub_experiment(y[i, :], x[i, :], x[ROWS - 1 - i, :], n)
    T.pipe_barrier("v")
    T.tile.abs_experiment(y, y, ROWS * n)
    T.pipe_barrier("v")
    T.tile.mins_experiment(y, y, 0.5, ROWS * COLUMNS)


@case("indices", lambda x, s: np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) * 3 + 7, "int32")
@T.macro
def indices(x, y, s, blocks, n):
    T.tile.createvecindex(y, n)
    T.pipe_barrier("v")
    T.tile.sub(y, y, n)
    T.tile.arith_progression(x, 7, 2, ROWS * COLUMNS)
    T.pipe_barrier("v")
    T.tile.add(y, x, y)


@case("in-place", lambda x, s: x / (1 + np.exp(-x)) + np.sin(x) ** 2 + np.cos(x) ** 2)
@T.macro
def in_place(x, y, s, blocks, n):
    T.tile.silu(y[:, 0:32], y[:, 0:32])
    T.tile.silu(y[:, 32:64], y[:, 32:64])
    T.pipe_barrier("v")
    T.tile.sin(x[0:16, :], x[0:16, :])
    T.pipe_barrier("v")
    T.tile.mul_add_dst(y, x, x)
    T.pipe_barrier("v")
    T.tile.mul(x, x, x)
    T.pipe_barrier("v")
    T.tile.mul(x, x, -1.0)
    T.pipe_barrier("v")
    T.tile.add(x, x, 1)
    T.pipe_barrier("v")
    T.tile.add(y, y, x)


@case("powers", lambda x, s: np.sqrt(np.abs(x)) / 4)
@T.macro
def powers(x, y, s, blocks, n):
    T.tile.abs(y, x)
    T.pipe_barrier("v")
    T.tile.fill(x, 0.5)
    T.pipe_barrier("v")
    T.tile.pow(y[0:8, :], y[0:8, :], x[0:8, :])
    T.tile.sqrt(y[8:16, :], y[8:16, :])
    T.pipe_barrier("v")
    T.tile.div(y, y, 4)


def test_calls_of_scripts(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    numbers = [batch.add(func) for func in KERNELS]
    batch.build()
    rng = np.random.default_rng(8)
    for number, (name, expected) in zip(numbers, EXPECTED.items(), strict=True):
        func = KERNELS[number]
        dtype = func.tensors[0].dtype.compute
        x = (rng.standard_normal((ROWS, COLUMNS)) * 3).astype(dtype)
        s = rng.uniform(1, 4, ROWS).astype(dtype)
        arguments = [x, s, COLUMNS, np.zeros_like(x)]
        outcome = batch.run(number, arguments, checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, f"{name}: {outcome.error.text}"
        want = expected(x.astype(np.float64), s.astype(np.float64))
        np.testing.assert_allclose(outcome.arrays[3], want, rtol=2e-5, atol=2e-6, err_msg=name)
        own = interpreted(func, arguments)[3]
        np.testing.assert_allclose(outcome.arrays[3], own, rtol=2e-6, atol=1e-6, err_msg=name)
