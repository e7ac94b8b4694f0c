"""Tiles with two names of which products use one and vector code the other. Each runs at `strict`
against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@jit
def windows_times(X, K):
    """An operand that is filled in three dimensions."""
    N, L, W, F = T.const("N, L, W, F")
    X: T.Tensor((N, L), T.float16)
    K: T.Tensor((W, F), T.float16)
    Y = T.empty((N * L, F), T.float32)
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N, L, W), T.float16)
        k = T.alloc_shared((W, F), T.float16)
        y = T.alloc_fragment((N * L, F), T.float32)
        for i, j, w in T.Parallel(N, L, W):
            x[i, j, w] = T.if_then_else(j + w < L, X[i, j + w], 0)
        flat = T.reshape(x, (N * L, W))
        T.copy(K, k)
        T.gemm(flat, k, y, clear_accum=True)
        T.copy(y, Y)
    return Y


def test_an_operand_in_another_shape() -> None:
    torch.manual_seed(0)
    x, k = torch.randint(-3, 4, (2, 16)).half(), torch.randint(-3, 4, (16, 16)).half()
    padded = torch.nn.functional.pad(x, (0, 15)).float().unfold(1, 16, 1)
    torch.testing.assert_close(windows_times(x, k), (padded @ k.float()).flatten(0, 1))


@jit
def reused(A, B):
    """The bytes of an operand hold a sum in another type afterwards, in every round."""
    M, K, N = T.const("M, K, N")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((32, 32), T.float16)
        s = T.view(a, shape=(16, 32), dtype=T.float32)
        b = T.alloc_shared((32, N), T.float16)
        c = T.alloc_fragment((32, N), T.float32)
        y = T.alloc_fragment((32, N), T.float32)
        T.clear(y)
        for k in T.serial(K // 32):
            for i, j in T.Parallel(32, 32):
                a[i, j] = A[i, k * 32 + j] * 2
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c, clear_accum=True)
            for half in range(2):
                for i, j in T.Parallel(16, N):
                    s[i, j] = c[i + half * 16, j]
                for i, j in T.Parallel(16, N):
                    y[i + half * 16, j] += s[i, j]
        T.copy(y, Y)
    return Y


def test_bytes_that_hold_an_operand_and_then_a_sum() -> None:
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (32, 96)).half(), torch.randint(-3, 4, (96, 32)).half()
    torch.testing.assert_close(reused(a, b), 2 * a.float() @ b.float())


@jit
def read_as_a_line(A, B):
    """A sum is handed over to one name and read by the other."""
    M, K, N = T.const("M, K, N")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    Y = T.empty((M * N,), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((M, K), T.float16)
        b = T.alloc_shared((K, N), T.float16)
        c = T.alloc_fragment((M, N), T.float32)
        s = T.alloc_shared((M, N), T.float32)
        line = T.reshape(s, (M * N,))
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        T.copy(c, s)
        for i in T.Parallel(M * N):
            line[i] = line[i] + 1
        T.copy(line, Y)
    return Y


def test_a_sum_that_is_read_by_its_second_name() -> None:
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (32, 32)).half(), torch.randint(-3, 4, (32, 32)).half()
    torch.testing.assert_close(read_as_a_line(a, b), (a.float() @ b.float() + 1).flatten())


@jit
def sums_in_another_shape(X, K, O, rounds: int, begins: bool):  # noqa: E741
    """A sum that is set, changed and stored by another name, and added to in rounds."""
    N, L, W, F = T.const("N, L, W, F")
    X: T.Tensor((N * L, W), T.float16)
    K: T.Tensor((W, F), T.float16)
    O: T.Tensor((N, L, F), T.float32)  # noqa: E741
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((N * L, W), T.float16)
        k = T.alloc_shared((W, F), T.float16)
        y = T.alloc_fragment((N * L, F), T.float32)
        tiles = T.reshape(y, (N, L, F))
        T.copy(X, x)
        T.copy(K, k)
        for n, i, j in T.Parallel(N, L, F):
            tiles[n, i, j] = n + i - j
        for _ in T.Pipelined(rounds, num_stages=2):
            if begins:
                T.gemm(x, k, y, clear_accum=True)
            else:
                T.gemm(x, k, y)
            T.gemm(x, k, y)
            for n, i, j in T.Parallel(N, L, F):
                tiles[n, i, j] = tiles[n, i, j] * 2 + 1
        T.copy(tiles, O)


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("begins", [False, True])
def test_a_sum_in_another_shape(rounds: int, begins: bool) -> None:
    torch.manual_seed(0)
    x, k = torch.randint(-3, 4, (32, 16)).half(), torch.randint(-3, 4, (16, 16)).half()
    n, i, j = (torch.arange(m).reshape(s) for m, s in ((2, (2, 1, 1)), (16, (16, 1)), (16, (16,))))
    want, product = (n + i - j).float(), (x.float() @ k.float()).reshape(2, 16, 16)
    for _ in range(rounds):
        want = (want * (not begins) + 2 * product) * 2 + 1
    found = torch.zeros(2, 16, 16)
    sums_in_another_shape(x, k, found, rounds, begins)
    torch.testing.assert_close(found, want)


@jit
def copied_before(A, B):
    """An operand is a copy of a tile that its second name changes behind that."""
    M, K, N = T.const("M, K, N")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((M, K), T.float16)
        line = T.reshape(a, (M * K,))
        kept = T.alloc_shared((M, K), T.float16)
        b = T.alloc_shared((K, N), T.float16)
        c = T.alloc_fragment((M, N), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        T.copy(a, kept)
        T.fill(line, 1)
        T.gemm(kept, b, c, clear_accum=True)
        T.copy(c, Y)
    return Y


def test_a_copy_that_a_second_name_of_its_source_does_not_change() -> None:
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (32, 32)).half(), torch.randint(-3, 4, (32, 32)).half()
    torch.testing.assert_close(copied_before(a, b), a.float() @ b.float())


@jit
def some_made_anew(B, X, Y):
    """A sum with two names that some blocks make anew."""
    B: T.Tensor((32, 32), T.float16)
    X: T.Tensor((32, 32), T.float32)
    Y: T.Tensor((2, 1024), T.float32)
    with T.Kernel(2, threads=128) as bx:
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        line = T.reshape(c, (1024,))
        T.copy(B, b)
        T.copy(X, c)
        if bx > 0:
            T.gemm(b, b, c, clear_accum=True)
        T.copy(line, Y[bx, :])


def test_a_sum_that_some_blocks_make_anew() -> None:
    torch.manual_seed(0)
    b, x = torch.randint(-3, 4, (32, 32)).half(), torch.randn(32, 32)
    y = torch.zeros(2, 1024)
    some_made_anew(b, x, y)
    assert torch.equal(y[0], x.flatten())
    assert torch.equal(y[1], (b.float() @ b.float()).flatten())
