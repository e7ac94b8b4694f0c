"""Elements of gm that blocks update in lines of the data cache that other blocks update too, where
no tile can hold them: rows of sizes known at run time, columns, rows beside a product."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_runtime import SimulationError, jit

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]


@jit
def greatest_so_far(dtype: str) -> Any:
    rows, columns = T.dynamic("rows"), T.dynamic("columns")

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype)):
        with T.Kernel(rows, threads=128) as b:
            Y[b, 0] = X[b, 0]
            for i in T.serial(1, columns):
                Y[b, i] = T.max(Y[b, i - 1], X[b, i])

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("shape", [(1, 5), (19, 7), (35, 1)])
def test_rows_of_any_width(dtype: str, shape: tuple[int, int]) -> None:
    x = torch.randint(-99, 99, shape).to(getattr(torch, dtype))
    y = torch.zeros_like(x)
    greatest_so_far(dtype)(x, y)
    assert torch.equal(y, x.cummax(1).values)


@jit
def sums_of_planes(order: tuple[int, int]) -> Any:
    a, b, n = T.dynamic("a"), T.dynamic("b"), T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((a, b, n), "int32"), Y: T.Tensor((a, b, n), "int32")):
        with T.Kernel((a, b)[order[0]], (a, b)[order[1]], threads=128) as (x, y):
            i, j = (x, y)[order.index(0)], (x, y)[order.index(1)]
            Y[i, j, 0] = X[i, j, 0]
            for k in T.serial(1, n):
                Y[i, j, k] = Y[i, j, k - 1] + X[i, j, k]

    return kernel


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_rows_of_a_grid(order: tuple[int, int]) -> None:
    x = torch.randint(-99, 99, (3, 11, 5), dtype=torch.int32)
    y = torch.zeros_like(x)
    sums_of_planes(order)(x, y)
    assert torch.equal(y, x.cumsum(2).int())


@jit
def sums_of_columns() -> Any:
    n, m = T.dynamic("n"), 12

    @T.prim_func
    def kernel(X: T.Tensor((n, m), "float32"), Y: T.Tensor((n, m), "float32")):
        with T.Kernel(m // 2, threads=128) as b:
            for c in T.serial(2):
                Y[0, b * 2 + c] = X[0, b * 2 + c]
                for i in T.serial(1, n):
                    Y[i, b * 2 + c] = Y[i - 1, b * 2 + c] + X[i, b * 2 + c]

    return kernel


@pytest.mark.parametrize("rows", [1, 6])
def test_columns(rows: int) -> None:
    x = torch.randn(rows, 12)
    y = torch.zeros_like(x)
    sums_of_columns()(x, y)
    torch.testing.assert_close(y, x.cumsum(0))


@jit
def product_and_sums(wide: bool) -> Any:
    rows, columns = T.dynamic("rows"), T.dynamic("columns") if wide else 3
    size, inner = 8, 32

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, inner), "float16"),
        B: T.Tensor((inner, 16), "float16"),
        X: T.Tensor((rows, columns), "float32"),
        C: T.Tensor((rows, 16), "float32"),
        S: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, size), threads=128) as b:
            left = T.alloc_shared((size, inner), "float16")
            right = T.alloc_shared((inner, 16), "float16")
            out = T.alloc_fragment((size, 16), "float32")
            T.copy(A[b * size, 0], left)
            T.copy(B, right)
            T.gemm(left, right, out, clear_accum=True)
            T.copy(out, C[b * size, 0])
            for r in T.serial(size):
                if b * size + r < rows:
                    S[b * size + r, 0] = X[b * size + r, 0]
                    for k in T.serial(1, columns):
                        S[b * size + r, k] = S[b * size + r, k - 1] + X[b * size + r, k]

    return kernel


@pytest.mark.parametrize(("rows", "columns"), [(21, None), (21, 5)])
def test_rows_beside_a_product(rows: int, columns: int | None) -> None:
    a, b = torch.randn(rows, 32).half(), torch.randn(32, 16).half()
    x = torch.randn(rows, columns or 3)
    c, s = torch.zeros(rows, 16), torch.zeros_like(x)
    product_and_sums(columns is not None)(a, b, x, c, s)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(s, x.cumsum(1))


@jit
def counted_by_all() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), H: T.Tensor((n,), "int32")):
        with T.Kernel(n, threads=128) as b:
            H[X[b]] = H[X[b]] + 1

    return kernel


def test_elements_of_several_blocks_are_a_race() -> None:
    x = torch.zeros(6, dtype=torch.int32)
    with pytest.raises(SimulationError, match="race"):
        counted_by_all()(x, torch.zeros(6, dtype=torch.int32))
