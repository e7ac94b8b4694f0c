"""What kernels do that go through a sequence chunk by chunk: sums that are operands of the next
product, scalars that vector code adds up beside products, many tiles handed over in a round. Each
runs at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(len(shape))
    return torch.randn(*shape).to(dtype)


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-4) -> None:
    scale = float(expected.double().abs().max())
    torch.testing.assert_close(
        found.double() / scale, expected.double() / scale, rtol=tolerance, atol=tolerance
    )


@jit
def power(A, B, steps: int, copied: bool, doubled: bool):
    """A B^(steps + 1), each product of the sum before; `doubled` by vector code in between."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), "float32")
    B: T.Tensor((K, K), "float32")
    C = T.empty((M, K), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, K), "float32")
        b = T.alloc_shared((K, K), "float32")
        x = T.alloc_fragment((M, K), "float32")
        y = T.alloc_fragment((M, K), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, x, clear_accum=True)
        for _ in T.serial(steps):
            if doubled:
                for i, j in T.Parallel(M, K):
                    x[i, j] = x[i, j] * 2
            if copied:
                T.copy(x, a)
                T.gemm(a, b, y, clear_accum=True)
            else:
                T.gemm(x, b, y, clear_accum=True)
            T.copy(y, x)
        T.copy(x, C)
    return C


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("doubled", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_sum_of_floats_is_an_operand(steps: int, copied: bool, doubled: bool) -> None:
    a, b = random(32, 48), random(48, 48) / 7
    expected = a.double()
    for number in range(steps + 1):
        expected = expected @ b.double() * (2 if doubled and number else 1)
    close(power(a, b, steps, copied, doubled), expected)


@jit
def guarded_products(A, B, parts: int, block: int):
    """Sums over rounds, in each of which branches hand over what vector code makes."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float32")
    B: T.Tensor((N, K), "float32")
    C = T.empty((parts, 16, 16), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((16, block), "float32")
        b = T.alloc_shared((16, block), "float32")
        x = T.alloc_shared((16, block), "float32")
        y = T.alloc_shared((16, block), "float32")
        c0 = T.alloc_fragment((16, 16), "float32")
        c1 = T.alloc_fragment((16, 16), "float32")
        c2 = T.alloc_fragment((16, 16), "float32")
        T.clear(c0)
        T.clear(c1)
        T.clear(c2)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=1):
            for p, c in ((0, c0), (1, c1), (2, c2)):
                if p * 16 < M:
                    T.copy(A[p * 16, k * block], a)
                    T.copy(B[p * 16, k * block], b)
                    for i, j in T.Parallel(16, block):
                        x[i, j] = a[i, j] + 1
                        y[i, j] = b[i, j] * 2
                    T.gemm(x, y, c, transpose_B=True)
                    for i, j in T.Parallel(16, block):
                        y[i, j] = b[i, j] - a[i, j]
                    T.gemm(x, y, c, transpose_B=True)
                    for i, j in T.Parallel(16, block):
                        x[i, j] = T.abs(a[i, j])
                    T.gemm(x, y, c, transpose_B=True)
        T.copy(c0, C[0, 0, 0])
        T.copy(c1, C[1, 0, 0])
        T.copy(c2, C[2, 0, 0])
    return C


@pytest.mark.parametrize("rounds", [2, 5])
def test_many_tiles_are_handed_over_in_a_round(rounds: int) -> None:
    a, b = random(48, 32 * rounds).double(), random(48, 32 * rounds).double().flip(0)
    found = guarded_products(a.float(), b.float(), 3, 32)
    for p in range(3):
        x, y = a[p * 16 : p * 16 + 16], b[p * 16 : p * 16 + 16]
        close(found[p], (x + 1) @ (3 * y - x).T + x.abs() @ (y - x).T)


@jit
def traced_products(A, B, stages: int, decides: bool):
    """A product, and the sum of what its operands have in common, which a variable adds up."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B: T.Tensor((N, M), "float32")
    C = T.empty((M, M), "float32")
    D = T.empty((M,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, M), "float32")
        b = T.alloc_shared((M, M), "float32")
        c = T.alloc_fragment((M, M), "float32")
        run = T.alloc_fragment((M * M,), "float32")
        one = T.alloc_fragment((1,), "float32")
        d = T.alloc_fragment((M,), "float32")
        total = T.alloc_var("float32")
        most = T.alloc_var("float32")
        total = 0.0
        most = 0.0
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(N, M), num_stages=stages):
            T.copy(A[0, k * M], a)
            T.copy(B[k * M, 0], b)
            for i in T.Parallel(M * M):
                run[i] = a[i // M, i % M] * b[i // M, i % M]
            T.reduce_sum(run, one, dim=-1)
            total = total + one[0]
            if one[0] > most:
                most = one[0]
            if decides:
                if most > 0:
                    T.gemm(a, b, c)
            else:
                T.gemm(a, b, c)
        for i in T.Parallel(M):
            d[i] = total + most
        T.copy(d, D)
        T.copy(c, C)
    return C, D


@pytest.mark.parametrize("stages", [0, 2])
def test_a_variable_of_vector_code_beside_products(stages: int) -> None:
    a, b = random(16, 48).double(), random(48, 16).double()
    c, d = traced_products(a.float(), b.float(), stages, False)
    close(c, a @ b)
    parts = [(a[:, k : k + 16] * b[k : k + 16]).sum() for k in (0, 16, 32)]
    close(d, (sum(parts) + max(0, *parts)).expand(16))


def test_products_can_not_depend_on_such_a_variable() -> None:
    a, b = random(16, 48), random(48, 16)
    with pytest.raises(KernelError) as error:
        traced_products(a, b, 0, True)
    assert error.value.slug == "foreign-value"
    assert "an element of `one`" in str(error.value)


@jit
def running_rows(A, B, dtype: Any):
    """Running sums of rows as they come, the first of each in a column, beside a product."""
    R, N = T.const("R, N")
    A: T.Tensor((R, N), "float32")
    B: T.Tensor((N, N), "float16")
    S = T.empty((R, N), "float32")
    C = T.empty((N, N), "float32")
    E = T.empty((1, R), dtype)
    with T.Kernel(1, threads=128) as _:
        row = T.alloc_shared((N,), "float32", scope="shared")
        one = T.alloc_fragment((1,), "float32")
        ends = T.alloc_shared((1, R), dtype)
        b = T.alloc_fragment((N, N), "float16", scope="shared")
        c = T.alloc_fragment((N, N), "float32")
        T.copy(B, b)
        T.clear(c)
        for r in T.Pipelined(R, num_stages=2):
            T.copy(A[r, 0], row)
            T.reduce_sum(row, one, dim=0)
            T.copy(one, ends[:, r])
            T.cumsum(row, dim=0)
            T.copy(row, S[r, 0])
            T.gemm(b, b, c)
        T.copy(ends, E)
        T.copy(c, C)
    return S, C, E


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_of_a_pipelined_loop(dtype: torch.dtype) -> None:
    a, b = random(5, 64), random(64, 64, dtype=torch.float16)
    s, c, e = running_rows(a, b, dtype)
    close(s, a.double().cumsum(1))
    close(c, 5 * b.double() @ b.double())
    close(e[0], a.double().sum(1), 1e-4 if dtype is torch.float32 else 1e-2)
