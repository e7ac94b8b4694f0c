"""Tiles of three and more dimensions that hang over the ends of their tensors in text for GPUs.
Each runs at `strict` against torch."""

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
def doubled(A, x: int, y: int, z: int, shift: int):
    """Twice the elements, which lie `shift` planes further up, and their sums by atomics."""
    L, M, N = T.dynamic("L, M, N")
    A: T.Tensor((L, M, N), "float32")
    B = T.empty((L, M, N), "float32")
    with T.Kernel(T.ceildiv(N, z), T.ceildiv(M, y), T.ceildiv(L, x), threads=128) as (k, j, i):
        a = T.alloc_shared((x, y, z), "float32")
        b = T.alloc_fragment((x, y, z), "float32")
        T.copy(A[i * x - shift : (i + 1) * x - shift, j * y : (j + 1) * y, k * z : (k + 1) * z], a)
        for p, q, r in T.Parallel(x, y, z):
            b[p, q, r] = a[p, q, r] * 2
        T.copy(b, B[i * x, j * y, k * z])
    return B


@pytest.mark.parametrize("shape", [(16, 8, 16), (20, 8, 16), (9, 11, 21), (3, 5, 5)])
@pytest.mark.parametrize("shift", [0, 3])
def test_the_ends_of_every_dimension(shape: tuple[int, int, int], shift: int) -> None:
    a = torch.randn(*shape)
    expected = torch.zeros(*shape)
    expected[shift:] = 2 * a[: max(0, shape[0] - shift)]
    assert torch.equal(doubled(a, 8, 8, 16, shift), expected)


@jit
def added_up(A, B, x: int):
    """Adds planes of A to those of B."""
    L = T.dynamic("L")
    A: T.Tensor((L, 2, 4, 8), "float32")
    B: T.Tensor((L, 2, 4, 8), "float32")
    with T.Kernel(T.ceildiv(L, x), threads=128) as i:
        a = T.alloc_shared((x, 2, 4, 8), "float32")
        T.copy(A[i * x, 0, 0, 0], a)
        T.atomic_add(B[i * x : (i + 1) * x, 0:2, 0:4, 0:8], a)


@pytest.mark.parametrize("planes", [8, 10])
def test_four_dimensions_are_added_up(planes: int) -> None:
    a, b = torch.randn(planes, 2, 4, 8), torch.randn(planes, 2, 4, 8)
    expected = a + b
    added_up(a, b, 4)
    assert torch.allclose(b, expected)


@jit
def plane_products(A, B, x: int):
    """Products of planes, several of which a block loads at once."""
    L = T.dynamic("L")
    A: T.Tensor((L, 16, 32), "float16")
    B: T.Tensor((L, 32, 16), "float16")
    C = T.empty((L, 16, 16), "float32")
    with T.Kernel(T.ceildiv(L, x), threads=128) as i:
        a = T.alloc_shared((x, 16, 32), "float16")
        b = T.alloc_shared((x, 32, 16), "float16")
        c = T.alloc_fragment((16, 16), "float32")
        T.copy(A[i * x, 0, 0], a)
        T.copy(B[i * x, 0, 0], b)
        for p in T.serial(x):
            T.gemm(a[p, :, :], b[p, :, :], c, clear_accum=True)
            T.copy(c, C[i * x + p, 0, 0])
    return C


@pytest.mark.parametrize("planes", [4, 7])
def test_planes_of_products(planes: int) -> None:
    a, b = torch.randn(planes, 16, 32).half(), torch.randn(planes, 32, 16).half()
    expected = a.double() @ b.double()
    torch.testing.assert_close(plane_products(a, b, 4).double(), expected, rtol=1e-3, atol=1e-3)
