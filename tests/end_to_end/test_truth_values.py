"""Masks of truth values in memory: what fills them, reads them as conditions and as numbers, and
stores conditions and numbers to them; none by the scalar unit. Each runs at `strict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("error:.*scalar loop"),
]

M, COLUMNS = 11, (40, 33)


def read_mask(use: str, n: int) -> Any:
    """A mask that is loaded by tiles, of which the last has rows behind the tensor."""

    @T.prim_func
    def kernel(
        X: T.Tensor((M, n), "float32"), K: T.Tensor((M, n), "bool"), Y: T.Tensor((M, n), "float32")
    ):
        with T.Kernel(T.ceildiv(M, 4), threads=128) as b:
            x = T.alloc_shared((4, n), "float32")
            k = T.alloc_shared((4, n), "bool")
            T.copy(X[b * 4, 0], x)
            T.copy(K[b * 4, 0], k)
            for i, j in T.Parallel(4, n):
                if use == "choice":
                    x[i, j] = T.if_then_else(k[i, j], x[i, j], -2.0)
                elif use == "with others":
                    x[i, j] = T.if_then_else(T.And(x[i, j] > 0, ~k[i, j]), x[i, j], -2.0)
                elif use == "branch":
                    if not k[i, j]:
                        x[i, j] = -2.0
                elif use == "number":
                    x[i, j] = x[i, j] * T.cast(k[i, j], "float32")
                else:
                    inverse = T.if_then_else(x[i, j] > 0, k[i, j], x[i, j] < -1)
                    x[i, j] = T.if_then_else(inverse, 1.0, x[i, j])
            T.copy(x, Y[b * 4, 0])

    return kernel


def after_mask(use: str, x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    match use:
        case "choice" | "branch":
            return torch.where(k, x, -2.0)
        case "with others":
            return torch.where((x > 0) & ~k, x, -2.0)
        case "number":
            return x * k
    return torch.where(torch.where(x > 0, k, x < -1), 1.0, x)


@pytest.mark.parametrize("n", COLUMNS)
@pytest.mark.parametrize("use", ["choice", "with others", "branch", "number", "chosen condition"])
def test_masks_from_memory_are_conditions_and_numbers(use: str, n: int) -> None:
    x, k, y = torch.randn(M, n), torch.rand(M, n) > 0.4, torch.zeros(M, n)
    compile(read_mask(use, n))(x, k, y)
    assert torch.equal(y, after_mask(use, x, k))


@pytest.mark.parametrize("value", [True, False])
def test_conditions_and_numbers_are_stored_to_masks(value: bool) -> None:
    n = 45

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"), P: T.Tensor((n,), "bool"), Q: T.Tensor((n,), "bool"),
        R: T.Tensor((n,), "bool"), S: T.Tensor((n,), "bool"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            q = T.alloc_shared((n,), "bool")
            r = T.alloc_shared((n,), "bool")
            T.fill(q, value)
            for i in T.Parallel(n):
                P[i] = T.Or(X[i] > 1, X[i] < -1)
                r[i] = X[i] * 2
                if X[i] > 0:
                    q[i] = not value
            T.copy(q, Q)
            T.copy(r, R)
            T.clear(r)
            T.copy(r, S)

    x = torch.randn(n)
    x[:4] = torch.tensor([0.0, 0.25, -0.0, float("inf")])
    p, q, r, s = (torch.rand(n) > 0.5 for _ in range(4))
    compile(kernel)(x, p, q, r, s)
    wanted = x.abs() > 1, (x > 0) != value, x * 2 != 0, torch.zeros(n, dtype=torch.bool)
    for found, expected in zip((p, q, r, s), wanted, strict=True):
        assert torch.equal(found, expected)


def test_a_choice_reads_rows_behind_the_tensor() -> None:
    """In kernels for GPUs they are 0, so the choice needs no branch for each element."""
    n = 33

    @T.prim_func
    def kernel(
        X: T.Tensor((M, n), "float32"), K: T.Tensor((n,), "bool"), Y: T.Tensor((M, n), "float32")
    ):
        with T.Kernel(T.ceildiv(M, 4), threads=128) as b:
            y = T.alloc_fragment((4, n), "float32")
            for i, j in T.Parallel(4, n):
                y[i, j] = T.if_then_else(K[j], X[b * 4 + i, j], -2.0)
            T.copy(y, Y[b * 4, 0])

    x, k, y = torch.randn(M, n), torch.rand(n) > 0.4, torch.zeros(M, n)
    compile(kernel)(x, k, y)
    assert torch.equal(y, torch.where(k, x, -2.0))
