"""Elements that say which others are read or stored: tables read by integers of every width, lanes
exchanged by bits of their numbers, lengths in 64 bits, stores under a condition. None of them is a
scalar loop."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict", "no_scalar_loops")


@pytest.fixture
def no_scalar_loops() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    assert not [w for w in found if "scalar-loop" in str(w.message)]


@jit
def looked_up(dtype: str, rows: int, columns: int, size: int) -> Any:
    @T.prim_func
    def kernel(
        L: T.Tensor((size,), "float32"),
        X: T.Tensor((rows, columns), dtype),
        Y: T.Tensor((rows, columns), "float32"),
        Z: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, 4), threads=128) as b:
            table = T.alloc_shared((256,), "float32")
            T.copy(L[0], table)
            for i, j in T.Parallel(4, columns):
                if b * 4 + i < rows:
                    Y[b * 4 + i, j] = L[X[b * 4 + i, j]]
                    Z[b * 4 + i, j] = table[X[b * 4 + i, j]]

    return kernel


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64"])
def test_tables_are_read_by_integers_of_any_type(dtype: str) -> None:
    table = torch.randn(100)
    x = torch.randint(0, 100, (5, 24)).to(getattr(torch, dtype))
    x[0, 0] = 120  # elements outside of a tensor are 0
    y, z = torch.zeros(5, 24), torch.zeros(5, 24)
    looked_up(dtype, 5, 24, 100)(table, x, y, z)
    expected = torch.cat([table, torch.zeros(156)])[x.long()]
    assert torch.equal(y, expected)
    assert torch.equal(z, expected)


@jit
def gathered(size: int) -> Any:
    @T.prim_func
    def kernel(
        L: T.Tensor((size,), "float32"),
        X: T.Tensor((40,), "int64"),
        Y: T.Tensor((40,), "float32"),
    ):
        with T.Kernel(2, threads=128) as b:
            for i in T.Parallel(20):
                Y[b * 20 + i] = L[X[b * 20 + i]]

    return kernel


def test_indices_of_64_bits_may_lie_far_outside() -> None:
    table, x, y = torch.randn(70), torch.randint(0, 70, (40,)), torch.zeros(40)
    x[:4] = torch.tensor([-1, 2**32 + 3, -(2**40), 70])
    gathered(70)(table, x, y)
    inside = (x >= 0) & (x < 70)
    assert torch.equal(y, torch.where(inside, table[x.clamp(0, 69)], 0))


@jit
def sorted_rows(columns: int) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((3, columns), "float32"), Y: T.Tensor((3, columns), "float32")):
        with T.Kernel(3, threads=128) as b:
            v = T.alloc_shared((columns,), "float32")
            w = T.alloc_shared((columns,), "float32")
            length = T.alloc_var("int32", 2)
            apart = T.alloc_var("int32", 0)
            T.copy(X[b, 0], v)
            while length <= columns:
                apart = length // 2
                while apart > 0:
                    for i in T.Parallel(columns):
                        up = (i & length) == 0
                        first = (i & apart) == 0
                        w[i] = T.if_then_else(
                            up == first, T.min(v[i], v[i ^ apart]), T.max(v[i], v[i ^ apart])
                        )
                    T.copy(w, v)
                    apart = apart // 2
                length = length * 2
            T.copy(v, Y[b, 0])

    return kernel


def test_a_bitonic_network_sorts() -> None:
    x, y = torch.randn(3, 32), torch.zeros(3, 32)
    sorted_rows(32)(x, y)
    assert torch.equal(y, x.sort(1).values)


@jit
def windows(rows: int, columns: int) -> Any:
    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), "float32"),
        N: T.Tensor((rows,), "int64"),
        P: T.Tensor((rows, columns), "int64"),
        Y: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(rows, threads=128) as b:
            for t in T.serial(T.ceildiv(N[b] % 100, 16)):
                for j in T.Parallel(16):
                    if t * 16 + j < columns:
                        Y[b, t * 16 + j] = T.if_then_else(
                            (t * 16 + j >= N[b] - 10) & (t * 16 + j < N[b]), X[b, t * 16 + j], 0.0
                        ) + T.if_then_else(P[b, t * 16 + j] != -100, 0.0, 8.0)

    return kernel


def test_lengths_and_labels_have_64_bits() -> None:
    n = torch.tensor([48, 3, 2**40 + 40, -(2**40) + 30])
    x, p, y = torch.randn(4, 48), torch.full((4, 48), -100), torch.zeros(4, 48)
    p[:, ::3] = 2**32 - 100
    windows(4, 48)(x, n, p, y)
    i = torch.arange(48)
    kept = (i >= n[:, None] - 10) & (i < n[:, None])
    expected = torch.where(kept, x, 0.0) + torch.where(p != -100, 0.0, 8.0)
    done = i < (n[:, None] % 100 + 15) // 16 * 16
    assert torch.equal(y, torch.where(done, expected, 0.0))


@jit
def replaced(dtype: str, length: int, blocks: int) -> Any:
    size = -(-length // blocks)

    @T.prim_func
    def kernel(A: T.Tensor((length,), dtype), B: T.Tensor((length,), dtype)):
        with T.Kernel(blocks, threads=128) as b:
            for i in T.Parallel(size):
                if A[b * size + i] > 3:
                    B[b * size + i] = A[b * size + i]
                elif A[b * size + i] < -3:
                    B[b * size + i] = B[b * size + i] + 1

    return kernel


@pytest.mark.parametrize(
    ("dtype", "length", "blocks"),
    [("float32", 50, 2), ("float16", 333, 40), ("int8", 50, 2), ("int32", 333, 40)],
)
def test_a_condition_leaves_elements_of_a_tensor(dtype: str, length: int, blocks: int) -> None:
    a, b = (torch.randint(-9, 9, (length,)).to(getattr(torch, dtype)) for _ in range(2))
    expected = torch.where(a > 3, a, torch.where(a < -3, b + 1, b))
    replaced(dtype, length, blocks)(a, b)
    assert torch.equal(b, expected)


@jit
def replaced_by_either() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((48,), "float32"), B: T.Tensor((48,), "float32")):
        with T.Kernel(2, threads=128) as b:
            for i in T.Parallel(48):
                if (A[i] > 0) == (b == 0):
                    B[i] = A[i] + b

    return kernel


def test_blocks_that_leave_elements_to_others_do_not_store_these() -> None:
    a, b = torch.randn(48), torch.zeros(48)
    with pytest.warns(Warning, match="the condition leaves elements of `B`"):
        replaced_by_either()(a, b)
    assert torch.equal(b, torch.where(a > 0, a, a + 1))


@jit
def gated_in_place(rows: int, columns: int) -> Any:
    @T.prim_func
    def kernel(
        X: T.Tensor((rows, 2 * columns), "bfloat16"), D: T.Tensor((rows, columns), "bfloat16")
    ):
        with T.Kernel(rows, T.ceildiv(columns, 32), threads=128) as (b, c):
            for j in T.Parallel(32):
                if c * 32 + j < columns:
                    a = T.cast(X[b, c * 32 + j], "float32")
                    g = T.cast(X[b, columns + c * 32 + j], "float32")
                    d = T.cast(D[b, c * 32 + j], "float32")
                    X[b, c * 32 + j] = d * g
                    X[b, columns + c * 32 + j] = d * a

    return kernel


def test_names_keep_values_that_guarded_stores_change() -> None:
    x, d = torch.randn(3, 80).bfloat16(), torch.randn(3, 40).bfloat16()
    a, g = x.float().chunk(2, 1)
    expected = torch.cat([d.float() * g, d.float() * a], 1).bfloat16()
    gated_in_place(3, 40)(x, d)
    assert torch.equal(x, expected)
