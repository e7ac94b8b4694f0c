"""Recurrences that store their state in each iteration: against NumPy at `strict`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T

pytestmark = [pytest.mark.usefixtures("strict"), pytest.mark.whole]


@T.jit(out_idx=[-1])
def recurrence(B: int, S: int, D: int, columns: int, dtype: str, threads: int) -> Any:
    """Times the input, and plus it; the state before the first step is one."""

    @T.prim_func
    def kernel(X: T.Tensor((B, S, D), dtype), H: T.Tensor((B, S, D), dtype)):
        with T.Kernel(T.cdiv(D, columns), B, threads=threads) as (bx, b):
            x, h = T.alloc_shared((columns,), dtype), T.alloc_shared((columns,), dtype)
            T.fill(h, 1)
            for t in T.serial(S):
                T.copy(X[b, t, bx * columns], x)
                for j in T.Parallel(columns):
                    h[j] = h[j] * x[j] + x[j]
                T.copy(h, H[b, t, bx * columns])

    return kernel


@T.jit(out_idx=[-2, -1])
def states(S: int, M: int, N: int, threads: int) -> Any:
    """A state of several rows, which is needed behind the loop too, and its largest so far."""

    @T.prim_func
    def kernel(
        X: T.Tensor((S, M, N), "float32"),
        H: T.Tensor((S, M, N), "float32"),
        top: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.cdiv(M, 8), threads=threads) as b:
            x, h = T.alloc_shared((8, N), "float32"), T.alloc_shared((8, N), "float32")
            T.fill(h, 0.0)
            for t in T.serial(S):
                T.copy(X[t, b * 8, 0], x)
                for i, j in T.Parallel(8, N):
                    h[i, j] = T.max(h[i, j], x[i, j])
                T.copy(h, H[t, b * 8, 0])
            T.copy(h, top[b * 8, 0])

    return kernel


# Batches, steps, columns, columns of a block, type, lanes: tails, one step, and both lanes.
CASES = [
    (2, 9, 200, 64, "float32", 2), (1, 1, 64, 64, "float32", 2), (1, 2, 70, 64, "float32", 1),
    (2, 13, 136, 128, "float16", 2), (1, 5, 96, 32, "int32", 1), (1, 6, 33, 32, "float16", 1),
]  # fmt: skip


@pytest.mark.parametrize("case", kept(CASES, 2), ids=str)
def test_every_step_of_a_recurrence_is_stored(case: tuple[int, int, int, int, str, int]) -> None:
    batches, steps, size, columns, dtype, threads = case
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (batches, steps, size)).astype(dtype)
    found = recurrence(*case[:4], dtype, threads)(torch.from_numpy(x)).numpy()
    expected = np.ones_like(x)
    for t in range(steps):
        before = expected[:, t - 1] if t else np.ones_like(x[:, 0])
        expected[:, t] = before * x[:, t] + x[:, t]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("steps", "rows", "columns", "threads"), [(7, 13, 40, 2), (3, 8, 64, 1)])
def test_states_of_several_rows_are_stored(
    steps: int, rows: int, columns: int, threads: int
) -> None:
    x = np.random.default_rng(1).standard_normal((steps, rows, columns)).astype(np.float32)
    found, top = states(steps, rows, columns, threads)(torch.from_numpy(x))
    expected = np.maximum.accumulate(np.maximum(x, 0), 0)
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(top.numpy(), expected[-1])


def test_a_copy_of_the_state_is_stored() -> None:
    names = [a.buffer.name for a in recurrence(1, 9, 64, 64, "float32", 1).lowered.launch.allocs]
    assert "h_stored" in names
