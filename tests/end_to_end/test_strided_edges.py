"""Elements some steps apart, from before a tensor and to behind it: as many are there as begin
inside."""

from __future__ import annotations

import warnings

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelWarning
from tile_runtime import jit

FIRST = (0, 1, 4, -1, -3, 20)


@jit
def every(X, First, count: int, step: int, in_a_loop: bool):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    First: T.Tensor((1,), "int32")
    Y = T.empty((M, count), "float32")
    with T.Kernel(1, threads=128) as _:
        t = T.alloc_fragment((M, count), "float32")
        if in_a_loop:
            for first in T.serial(First[0], First[0] + 1):
                for i, j in T.Parallel(M, count):
                    t[i, j] = X[i, j * step + first]
        else:
            for i, j in T.Parallel(M, count):
                t[i, j] = X[i, j * step + First[0]]
        T.copy(t, Y)
    return Y


@pytest.mark.parametrize("in_a_loop", [False, True])
@pytest.mark.parametrize("size, count, step", [(5, 8, 2), (9, 16, 3), (16, 8, 2), (16, 8, 3)])
def test_steps_leave_a_tensor(
    size: int, count: int, step: int, in_a_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    x = torch.randn(3, size)
    for first in FIRST:
        places = torch.arange(count) * step + first
        there = (places >= 0) & (places < size)
        expected = torch.where(there, x[:, places.clamp(0, size - 1)], torch.zeros(()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelWarning)
            found = every(x, torch.tensor([first], dtype=torch.int32), count, step, in_a_loop)
        assert torch.equal(found, expected), first
