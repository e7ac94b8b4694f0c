"""Values between operations lie where tiles of the kernel hold nothing then, where there is no room
beside all of them. Each kernel runs at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Func, walk
from tile_ir.nodes import Store
from tile_passes import PIPELINE, run_passes, run_pipeline
from tile_passes.parallel.serial_forms import for_want_of_room
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@jit
def one_after_the_other(A, B, F, rows: int, columns: int):
    """Two tiles, the second of which holds nothing while the first is worked on, and no room beside
    both."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B: T.Tensor((M, N), T.float32)
    F: T.Tensor((M,), T.float32)
    C = T.empty((M, N), T.float32)
    D = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as by:
        a = T.alloc_fragment((rows, columns), T.float32)
        b = T.alloc_fragment((rows, columns), T.float32)
        f = T.alloc_fragment((rows,), T.float32)
        T.copy(F[by * rows], f)
        T.copy(A[by * rows, 0], a)
        for i, j in T.Parallel(rows, columns):
            a[i, j] = f[i] / a[i, j]
        T.copy(a, C[by * rows, 0])
        T.copy(B[by * rows, 0], b)
        for i, j in T.Parallel(rows, columns):
            b[i, j] = f[i] / b[i, j]
        T.copy(b, D[by * rows, 0])
    return C, D


@jit
def all_the_time(A, B, F, rows: int, columns: int):
    """Both are in use behind the statement that needs a third."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B: T.Tensor((M, N), T.float32)
    F: T.Tensor((M,), T.float32)
    C = T.empty((M, N), T.float32)
    D = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as by:
        a = T.alloc_fragment((rows, columns), T.float32)
        b = T.alloc_fragment((rows, columns), T.float32)
        f = T.alloc_fragment((rows,), T.float32)
        T.copy(F[by * rows], f)
        T.copy(A[by * rows, 0], a)
        T.copy(B[by * rows, 0], b)
        for i, j in T.Parallel(rows, columns):
            a[i, j] = f[i] / a[i, j]
        T.copy(a, C[by * rows, 0])
        for i, j in T.Parallel(rows, columns):
            b[i, j] = f[i] / b[i, j]
        T.copy(b, D[by * rows, 0])
    return C, D


def lowered(kernel: Any) -> tuple[Func, Func]:
    """Without sharing, and as it is compiled."""
    func = kernel.prim_func
    return run_passes(func, PIPELINE, DEFAULT_TARGET).func, run_pipeline(func, DEFAULT_TARGET).func


def scalar_stores(func: Func) -> int:
    return sum(isinstance(s, Store) for s in walk(func.launch.body))


# Of 192 KB a tile takes so much on each of two vector cores: 2/5, and nearly a half.
@pytest.mark.parametrize(("rows", "columns"), [(96, 384), (128, 352)])
def test_room_of_tiles_that_hold_nothing(rows: int, columns: int) -> None:
    sizes = {"M": 2 * rows, "N": columns, "rows": rows, "columns": columns}
    before, after = lowered(one_after_the_other.compile(**sizes))
    assert any(for_want_of_room(before)[::2]) and not any(for_want_of_room(after))
    assert scalar_stores(after) == 0
    torch.manual_seed(1)
    a, b = (1 + torch.rand(2 * rows, columns) for _ in range(2))
    f = torch.randn(2 * rows)
    c, d = one_after_the_other(a, b, f, rows, columns)
    torch.testing.assert_close(c, f[:, None] / a, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(d, f[:, None] / b, rtol=1e-5, atol=1e-5)


def test_tiles_in_use_keep_their_room() -> None:
    sizes = {"M": 256, "N": 352, "rows": 128, "columns": 352}
    before, after = lowered(all_the_time.compile(**sizes))
    assert for_want_of_room(after)[2] and for_want_of_room(after) <= for_want_of_room(before)
    torch.manual_seed(2)
    a, b = (1 + torch.rand(256, 352) for _ in range(2))
    f = torch.randn(256)
    c, d = all_the_time(a, b, f, 128, 352)
    torch.testing.assert_close(c, f[:, None] / a, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(d, f[:, None] / b, rtol=1e-5, atol=1e-5)


@jit
def backwards(A):
    """Rows from the last on, some of which have room at a time."""
    A: T.Tensor((96, 256), T.float32)
    B = T.empty((96, 256), T.float32)
    with T.Kernel(1, threads=1):
        a = T.alloc_fragment((96, 256), T.float32)
        b = T.alloc_fragment((64, 256), T.float32)
        T.copy(A, a)
        T.copy(A[0:64, :], b)
        for i, j in T.Parallel(96, 256):
            B[95 - i, 255 - j] = a[i, j]
        T.copy(b, B[32:96, :])
    return B


def test_some_rows_at_a_time_in_another_order() -> None:
    a = torch.randn(96, 256)
    expected = a.flip(0, 1)
    expected[32:] = a[:64]
    assert torch.equal(backwards(a), expected)
