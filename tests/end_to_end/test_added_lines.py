"""`m[i] += x[i, j]` in T.Parallel: values along a variable that no index of the element has. Vector
code at `strict` against torch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_ir import KernelWarning
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")
FORMS = 9


@jit
def lines(X, dtype: str = "float32"):
    """Each form in a row of the result."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((FORMS, M), "float32")
    Z = T.empty((2, N), "float32")
    with T.Kernel(1, threads=64):
        x = T.alloc_shared((M, N), dtype)
        y = T.alloc_fragment((M,), "float32")
        z = T.alloc_fragment((N,), "float32")
        T.copy(X, x)
        T.fill(y, 0.5)
        for i, j in T.Parallel(M, N):
            y[i] += x[i, j]
        T.copy(y, Y[0, 0])
        for i, j in T.Parallel(M, N):
            y[i] -= x[i, j] * x[i, j] + i
        T.copy(y, Y[1, 0])
        for i, j in T.Parallel(M, N):
            y[i] = T.max(y[i], T.abs(x[i, j]))
        T.copy(y, Y[2, 0])
        for i, j in T.Parallel(M, N):
            y[i] = T.min(x[i, j], y[i])
        T.copy(y, Y[3, 0])
        for i, j in T.Parallel(M, N):
            if x[i, j] > 0.25:
                y[i] += x[i, j]
        T.copy(y, Y[4, 0])
        for i, j in T.Parallel(M, N):
            if j <= i:
                y[i] += 1
        T.copy(y, Y[5, 0])
        for i, j in T.Parallel(M, N):
            y[i] += X[i, j]
            y[i] += x[i, j]
        T.copy(y, Y[6, 0])
        for i, j in T.Parallel(M, N):
            y[i] += x[i, j]
            x[i, j] = x[i, j] * 2
            y[i] -= x[i, j]
        T.copy(y, Y[7, 0])
        T.fill(y, 0)
        for i, j in T.Parallel(M, N):
            y[0] += x[i, j]
        T.copy(y, Y[8, 0])
        T.fill(z, 0)
        for i, j in T.Parallel(M, N):
            z[j] += x[i, j]
        T.copy(z, Z[0, 0])
        for j, i in T.Parallel(N, M):
            z[j] = T.max(z[j], x[i, j] + j)
        T.copy(z, Z[1, 0])
    return Y, Z


def expected(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.double()
    rows, columns = torch.arange(len(x)), torch.arange(x.shape[1])
    found = [0.5 + x.sum(1)]
    found.append(found[-1] - (x * x).sum(1) - rows * x.shape[1])
    found.append(torch.maximum(found[-1], x.abs().amax(1)))
    found.append(torch.minimum(found[-1], x.amin(1)))
    found.append(found[-1] + (x * (x > 0.25)).sum(1))
    found.append(found[-1] + (rows + 1).clamp(max=x.shape[1]))
    found.append(found[-1] + 2 * x.sum(1))
    found.append(found[-1] - x.sum(1))
    found.append(torch.zeros(len(x)).double())
    found[-1][0] = 2 * x.sum()
    sums = 2 * x.sum(0)
    return torch.stack(found), torch.stack([sums, torch.maximum(sums, 2 * x.amax(0) + columns)])


def told(call: Any) -> tuple[Any, list[str]]:
    """What the call gives, and its warnings of scalar loops."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    texts = [str(w.message) for w in caught if issubclass(w.category, KernelWarning)]
    return result, [text for text in texts if "[scalar-loop]" in text]


@pytest.mark.parametrize(
    ("rows", "columns", "dtype"),
    [(8, 32, "float32"), (7, 13, "float32"), (1, 1, "float32"), (16, 48, "float16")],
)
def test_lines_of_values_are_added_to_single_elements(rows: int, columns: int, dtype: str) -> None:
    torch.manual_seed(rows)
    x = torch.randn(rows, columns).to(getattr(torch, dtype))
    (y, z), scalar_loops = told(lambda: lines(x, dtype=dtype))
    for found, wanted in zip((y, z), expected(x), strict=True):
        torch.testing.assert_close(found.double(), wanted, rtol=1e-3, atol=1e-3)
    if columns % 16 == 0:
        assert scalar_loops == []


@jit
def counted(X, P):
    """Iterations meet at elements that memory names: no lines."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    P: T.Tensor((M,), "int32")
    Y = T.empty((3, M), "float32")
    with T.Kernel(1, threads=64):
        x = T.alloc_shared((M, N), "float32")
        y = T.alloc_fragment((M,), "float32")
        T.copy(X, x)
        T.clear(y)
        for i in T.Parallel(M):
            y[P[i]] += 1
        T.copy(y, Y[0, 0])
        for i, j in T.Parallel(M, N):
            y[P[i]] += x[i, j]
        T.copy(y, Y[1, 0])
        for i, j in T.Parallel(M, N):
            y[(i + j) % M] += x[i, j]
        T.copy(y, Y[2, 0])
    return Y


def test_elements_that_memory_names_are_added_one_by_one() -> None:
    torch.manual_seed(1)
    x, p = torch.randn(8, 24), torch.randint(0, 8, (8,), dtype=torch.int32)
    counts = torch.bincount(p, minlength=8).float()
    sums = counts.index_add(0, p.long(), x.sum(1))
    places = (torch.arange(8)[:, None] + torch.arange(24)) % 8
    turned = sums.index_add(0, places.flatten(), x.flatten())
    found, scalar_loops = told(lambda: counted(x, p))
    torch.testing.assert_close(found, torch.stack([counts, sums, turned]), rtol=1e-4, atol=1e-4)
    assert len(scalar_loops) == 3
