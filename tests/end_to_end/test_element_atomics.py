"""T.atomic_add of one value to one element, in T.Parallel and alone. Each runs at `strict` against
torch."""

from __future__ import annotations

import warnings

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@jit
def added(A, R, C, D, E):
    A: T.Tensor((16, 64), T.float32)
    R: T.Tensor((16,), T.int32)
    C: T.Tensor((20, 64), T.float32)
    D: T.Tensor((20, 64), T.float32)
    E: T.Tensor((64,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((16, 64), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(16, 64):
            row = R[i]
            T.atomic_add(C[i + 2, j], a[i, j], memory_order="relaxed")
            T.atomic_add(D[row, j], a[i, j] * 2)
            T.atomic_add(E[j], a[i, j])


def test_tiles_gathered_rows_and_sums_over_rows() -> None:
    a, rows = torch.randn(16, 64), torch.randint(0, 20, (16,)).int()
    c, d, e = torch.randn(20, 64), torch.randn(20, 64), torch.randn(64)
    expected = c.clone(), d.clone().index_add(0, rows.long(), a * 2), e + a.sum(0)
    expected[0][2:18] += a
    added(a, rows, c, d, e)
    for found, wanted in zip((c, d, e), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@jit
def counted(A, C):
    A: T.Tensor((8,), T.int32)
    C: T.Tensor((4,), T.int32)
    with T.Kernel(6, threads=128) as bx:
        T.atomic_add(C[0], 1)
        T.atomic_add(C[bx % 3], bx)
        for i in T.Parallel(8):
            if i % 2 == 0:
                T.atomic_add(C[3], i)


def test_single_values_and_values_under_a_condition() -> None:
    c = torch.zeros(4, dtype=torch.int32)
    counted(torch.zeros(8, dtype=torch.int32), c)
    assert c.tolist() == [6 + 0 + 3, 1 + 4, 2 + 5, 6 * (0 + 2 + 4 + 6)]


def test_nothing_is_returned() -> None:
    with pytest.raises(KernelError, match="returns nothing"):

        @T.prim_func
        def k(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=128) as bx:
                T.atomic_add(A[0], 1, return_prev=True)


@jit
def added_where_told(A, R, C, D, E, F, limit: int):
    """Rows whose number is told and small enough, with tests of rows, of elements, of both."""
    A: T.Tensor((16, 32), T.float32)
    R: T.Tensor((16,), T.int32)
    C: T.Tensor((20, 32), T.float32)
    D: T.Tensor((20, 32), T.float32)
    E: T.Tensor((20, 32), T.float32)
    F: T.Tensor((20, 32), T.float32)
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_fragment((16, 32), T.float32)
        rows = T.alloc_shared((16,), T.int32)
        T.copy(A, a)
        T.copy(R, rows)
        for i, j in T.Parallel(16, 32):
            row = rows[i]
            if (row > -1) & (row <= limit):
                T.atomic_add(C[row, j], a[i, j] * 2)
        for i, j in T.Parallel(16, 32):
            if i >= 4:
                at = rows[i - 4]
                if at >= 0:
                    T.atomic_add(D[at, j], a[i, j])
        for i, j in T.Parallel(16, 32):
            if rows[i] >= 0 and j != 3:
                T.atomic_add(E[rows[i], j], a[i, j])
        for i, j in T.Parallel(16, 32):
            if i >= 4:
                up = rows[i - 4] + 1
                T.atomic_add(F[up, j], a[i, j])


def test_rows_that_are_added_under_a_condition() -> None:
    a, rows = torch.randn(16, 32), torch.randperm(19)[:16].int()
    rows[2], rows[9] = -1, -1
    found = [torch.randn(20, 32) for _ in range(4)]
    wanted = [f.clone() for f in found]
    for i, row in enumerate(rows.tolist()):
        if -1 < row <= 12:
            wanted[0][row] += 2 * a[i]
        if i >= 4 and rows[i - 4] >= 0:
            wanted[1][rows[i - 4]] += a[i]
        if row >= 0:
            wanted[2][row] += torch.where(torch.arange(32) == 3, 0, a[i])
        if i >= 4:
            wanted[3][rows[i - 4] + 1] += a[i]
    added_where_told(a, rows, *found, 12)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@jit
def masked(A, C, D, E, kind: str, block: int = 64):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    C: T.Tensor((N,), T.float32)
    D: T.Tensor((M, N), T.float32)
    E: T.Tensor((N,), T.int32)
    with T.Kernel(T.ceildiv(N, block), M, threads=128) as (bx, by):
        for i in T.Parallel(block):
            k = bx * block + i
            if kind == "bound":
                if k < N:
                    T.atomic_add(C[k], A[by, k] * 2)
            elif kind == "value":
                if k < N and A[by, k] > 0:
                    a = A[by, k]
                    T.atomic_add(C[k], a * 2)
                    T.atomic_max(E[k], T.cast(a * 10, "int32"))
            elif kind == "before":
                if k > 0 and k < N:
                    T.atomic_add(C[k - 1], A[by, k])
            elif k < N:
                D[by, k] = A[by, k] + 1
                T.atomic_min(E[k], by - i % 3)


@pytest.mark.parametrize("kind", ["bound", "value", "before", "beside a store"])
def test_elements_under_a_condition(kind: str) -> None:
    """Where it does not hold, what changes nothing is added, or nothing at all."""
    a, c, d = torch.randn(3, 150), torch.randn(150), torch.randn(3, 150)
    e = torch.randint(-9, 9, (150,)).int()
    found = c.clone(), d.clone(), e.clone()
    match kind:
        case "bound":
            c += 2 * a.sum(0)
        case "value":
            c += 2 * a.relu().sum(0)
            e = torch.maximum(e, torch.where(a > 0, (a * 10).int(), -(2**31)).amax(0))
        case "before":
            c[:-1] += a[:, 1:].sum(0)
        case _:
            d = a + 1
            e = torch.minimum(e, -(torch.arange(150).int() % 64 % 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        masked(a, *found, kind)
    scalar = [w for w in caught if "[scalar-loop]" in str(w.message)]
    assert bool(scalar) == (kind == "before")
    for got, wanted in zip(found, (c, d, e), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


@jit
def sent_back(A, W, Rows, Y):
    """Weighted rows added to rows that are named; none, where the name is no row."""
    M, N = T.const("M, N")
    R = T.const("R")
    A: T.Tensor((M, N), T.float32)
    W: T.Tensor((M,), T.float32)
    Rows: T.Tensor((M,), T.int32)
    Y: T.Tensor((R, N), T.float32)
    with T.Kernel(T.ceildiv(M, 8), T.ceildiv(N, 32), threads=128) as (bx, by):
        a = T.alloc_shared((8, 32), T.float32)
        T.copy(A[bx * 8, by * 32], a)
        for i, j in T.Parallel(8, 32):
            if bx * 8 + i < M and Rows[bx * 8 + i] >= 0 and by * 32 + j < N:
                T.atomic_add(Y[Rows[bx * 8 + i], by * 32 + j], a[i, j] * W[bx * 8 + i])


def test_named_rows_under_conditions_of_rows_and_columns() -> None:
    a, w, y = torch.randn(21, 45), torch.rand(21), torch.randn(5, 45)
    rows = torch.randint(-1, 5, (21,)).int()
    expected = y.clone().index_add(0, rows.clamp(0).long(), a * w[:, None] * (rows >= 0)[:, None])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sent_back(a, w, rows, y)
    assert not [w for w in caught if "[scalar-loop]" in str(w.message)]
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)
