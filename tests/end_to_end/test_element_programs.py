"""Bodies of T.Parallel that are programs for one element: more dimensions than a tile has, serial
loops inside, variables of the element's own. Each runs at `strict` against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@jit
def three_dimensions(A, S, R):
    A: T.Tensor((4, 6, 32), T.float32)
    S: T.Tensor((4, 6), T.float32)
    R: T.Tensor((4, 32), T.float32)
    B = T.empty((4, 6, 32), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_fragment((4, 6, 32), T.float32)
        s = T.alloc_fragment((4, 6), T.float32)
        r = T.alloc_fragment((4, 32), T.float32)
        T.copy(A, a)
        T.copy(S, s)
        T.copy(R, r)
        for i, j, q in T.Parallel(4, 6, 32):
            x = a[i, j, q]
            if x > 0:
                a[i, j, q] = x * s[i, j]
            else:
                a[i, j, q] = r[i, q]
        T.copy(a, B)
    return B


def test_three_dimensions_with_names_and_branches() -> None:
    a, s, r = torch.randn(4, 6, 32), torch.randn(4, 6), torch.randn(4, 32)
    close(three_dimensions(a, s, r), torch.where(a > 0, a * s[:, :, None], r[:, None, :]))


@jit
def four_dimensions(A):
    A: T.Tensor((2, 3, 4, 16), T.float16)
    B = T.empty((2, 3, 4, 16), T.float32)
    C = T.empty((6, 4, 16), T.float32)
    with T.Kernel(1, threads=128) as bx:
        for i, j, q, m in T.Parallel(2, 3, 4, 16):
            B[i, j, q, m] = T.cast(A[i, j, q, m], T.float32) * 2
            C[i * 3 + j, q, m] = A[i, j, q, m] + 1
    return B, C


def test_four_dimensions_of_tensors() -> None:
    a = torch.randn(2, 3, 4, 16).half()
    b, c = four_dimensions(a)
    close(b, a.float() * 2)
    close(c, (a + 1).float().reshape(6, 4, 16))


def test_iterations_of_three_dimensions_that_read_what_others_write() -> None:
    """All elements are read before any is written, also those of other outer iterations."""

    @T.prim_func
    def k(A: T.Tensor((4, 6, 32), "float32"), B: T.Tensor((4, 6, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((4, 6, 32), "float32")
            T.copy(A, a)
            for i, j, q in T.Parallel(3, 6, 32):
                a[i + 1, j, q] = a[i, j, q]
            T.copy(a, B)

    x = torch.randn(4, 6, 32)
    with pytest.warns(match="parallel-order"):
        kernel = compile(k, out_idx=-1)
    assert torch.equal(kernel(x), torch.cat([x[:1], x[:3]]))


@pytest.mark.parametrize("nested", [False, True])
def test_three_dimensions_in_one_loop_or_nested(nested: bool) -> None:
    @T.prim_func
    def direct(A: T.Tensor((4, 8, 64), "float32"), B: T.Tensor((4, 8, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_ub((4, 8, 64), "float32")
            for i, j, q in T.Parallel(4, 8, 64):
                tile[i, j, q] = A[i, j, q] * 2
            T.copy(tile, B)

    @T.prim_func
    def inner(A: T.Tensor((4, 8, 64), "float32"), B: T.Tensor((4, 8, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_ub((4, 8, 64), "float32")
            for i, j in T.Parallel(4, 8):
                if bx == 0:
                    for q in T.Parallel(64):
                        tile[i, j, q] = A[i, j, q] * 2
            T.copy(tile, B)

    x = torch.randn(4, 8, 64)
    assert torch.equal(compile(inner if nested else direct, out_idx=-1)(x), x * 2)


@jit
def small_product(A, B):
    A: T.Tensor((16, 8), T.float32)
    B: T.Tensor((8, 32), T.float32)
    C = T.empty((16, 32), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((16, 8), T.float32)
        b = T.alloc_shared((8, 32), T.float32)
        c = T.alloc_fragment((16, 32), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        for i, j in T.Parallel(16, 32):
            c[i, j] = 0
            for q in T.serial(8):
                c[i, j] += a[i, q] * b[q, j]
        T.copy(c, C)
    return C


def test_a_serial_loop_inside_becomes_one_around() -> None:
    a, b = torch.randn(16, 8), torch.randn(8, 32)
    close(small_product(a, b), a @ b)
    text = small_product.compile().get_kernel_source()
    assert "SetValue" not in text


@jit
def sums_to_the_row(A):
    A: T.Tensor((16, 32), T.float32)
    C = T.empty((16, 32), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((16, 32), T.float32)
        c = T.alloc_fragment((16, 32), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(16, 32):
            c[i, j] = 0
            for q in T.serial(i + 1):
                x = a[q, j]
                c[i, j] += x * 2
        T.copy(c, C)
    return C


@jit
def sums_of_lengths(A, L):
    A: T.Tensor((16, 32), T.float32)
    L: T.Tensor((16,), T.int32)
    C = T.empty((16,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((16, 32), T.float32)
        n = T.alloc_shared((16,), T.int32)
        c = T.alloc_fragment((16,), T.float32)
        T.copy(A, a)
        T.copy(L, n)
        for i in T.Parallel(16):
            c[i] = 0
            for q in T.serial(n[i]):
                c[i] += a[i, q]
        T.copy(c, C)
    return C


def test_numbers_of_rounds_that_differ() -> None:
    a = torch.randn(16, 32)
    close(sums_to_the_row(a), a.cumsum(0) * 2)
    lengths = torch.randint(0, 33, (16,)).int()
    close(sums_of_lengths(a, lengths), torch.stack([a[i, :n].sum() for i, n in enumerate(lengths)]))


@jit
def own_variables(A, B):
    A: T.Tensor((8, 16, 32), T.float32)
    B: T.Tensor((8,), T.float32)
    C = T.empty((16, 32), T.float32)
    with T.Kernel(1, threads=128) as bx:
        v = T.alloc_var(T.float32)
        for i, j in T.Parallel(16, 32):
            total = T.alloc_var(T.float32)
            most = T.alloc_var(T.float32, -1e30)
            for q in T.serial(8):
                total += A[q, i, j] * B[q]
                most = T.max(most, A[q, i, j])
            v = total
            if v > 1:
                v = v + most
            C[i, j] = v
    return C


def test_variables_of_each_element() -> None:
    a, b = torch.randn(8, 16, 32), torch.randn(8)
    total = (a * b[:, None, None]).sum(0)
    close(own_variables(a, b), torch.where(total > 1, total + a.max(0).values, total))


@jit
def product_with_a_vector(A, X):
    A: T.Tensor((64, 32), T.float32)
    X: T.Tensor((32,), T.float32)
    Y = T.empty((64,), T.float32)
    with T.Kernel(4, threads=128) as bx:
        for i in T.Parallel(16):
            total = T.alloc_var(T.float32)
            for q in T.serial(32):
                total += A[bx * 16 + i, q] * X[q]
            Y[bx * 16 + i] = total
    return Y


def test_a_product_with_a_vector() -> None:
    a, x = torch.randn(64, 32), torch.randn(32)
    close(product_with_a_vector(a, x), a @ x)
