"""`T.copy(..., stride=)`: rows any number of elements apart in gm, in every direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def rows_of(flat: torch.Tensor, start: int, rows: int, columns: int, stride: int) -> torch.Tensor:
    """What a copy of so many rows finds; zeros where the tensor has ended."""
    padded = torch.cat((flat, torch.zeros(start + rows * stride + columns, dtype=flat.dtype)))
    return torch.stack([padded[start + i * stride :][:columns] for i in range(rows)])


def there_and_back(rows: int, columns: int, dtype: str, by_hand: bool, number: int | None) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((4096,), dtype), Y: T.Tensor((8192,), dtype),
               start: T.int32, stride: T.int32, out: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, columns), dtype)
            T.copy(X[start], x, stride=stride if number is None else number)
            if by_hand:
                T.set_flag("mte2", "mte3", 0)
                T.wait_flag("mte2", "mte3", 0)
            T.copy(x, Y[0], stride=out)

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("number", [None, 100])
def test_rows_of_a_flat_tensor(dtype: str, by_hand: bool, number: int | None) -> None:
    rows, columns = 6, 64
    options = {} if by_hand else AUTOMATIC
    kernel = compile(there_and_back(rows, columns, dtype, by_hand, number), pass_configs=options)
    x = torch.arange(4096).remainder(113).to(getattr(torch, dtype))
    for start, stride, out in [(0, 100, 64), (7, 100, 200), (3000, 100, 65)]:
        y = torch.zeros(8192, dtype=x.dtype)
        kernel(x, y, start, stride, out)
        want = torch.zeros(8192, dtype=x.dtype)
        for i, row in enumerate(rows_of(x, start, rows, columns, stride)):
            want[i * out :][:columns] = row
        np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("stride", [64, 0, 33])
def test_rows_may_overlap_in_what_is_read(stride: int) -> None:
    kernel = compile(there_and_back(5, 64, "float32", False, None), pass_configs=AUTOMATIC)
    x, y = torch.randn(4096), torch.zeros(8192)
    kernel(x, y, 5, stride, 64)
    np.testing.assert_array_equal(y[:320].reshape(5, 64), rows_of(x, 5, 5, 64, stride))


def test_rows_behind_the_end_of_the_tensor() -> None:
    kernel = compile(there_and_back(6, 64, "float32", False, None), pass_configs=AUTOMATIC)
    x, y = torch.randn(4096), torch.ones(8192)
    kernel(x, y, 3800, 100, 64)
    np.testing.assert_array_equal(y[:384].reshape(6, 64), rows_of(x, 3800, 6, 64, 100))


def product(by_hand: bool) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((4096,), "float16"), C: T.Tensor((8192,), "float32"),
               stride: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 48), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.copy(A[16], a, stride=stride)
                if by_hand:
                    T.barrier_all()
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                if by_hand:
                    T.barrier_all()
                T.copy(c, C[3], stride=stride, enable_relu=True)

    return kernel


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("stride", [48, 50, 100])
def test_matrices_of_the_cube_core(by_hand: bool, stride: int) -> None:
    x, y = torch.randint(-4, 5, (4096,)).half(), torch.zeros(8192)
    compile(product(by_hand), pass_configs={} if by_hand else AUTOMATIC)(x, y, stride)
    a = rows_of(x, 16, 32, 48, stride).double()
    want = torch.zeros(8192, dtype=torch.float64)
    for i, row in enumerate((a @ a.T).clamp(min=0)):
        want[3 + i * stride :][:32] = row
    np.testing.assert_array_equal(y.double(), want)


def test_every_other_row_of_a_matrix_and_slots() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((16, 64), "float32"), Y: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((2, 4, 32), "float32")
            T.copy(X[1, 32], x, stride=128)
            T.copy(x, Y, stride=40)

    x, y = torch.randn(16, 64), torch.zeros(4096)
    compile(kernel, pass_configs=AUTOMATIC)(x, y)
    want = torch.zeros(4096)
    for i in range(8):
        want[i * 40 :][:32] = x[1 + 2 * i, 32:] if 1 + 2 * i < 16 else 0
    np.testing.assert_array_equal(y, want)


WRONG = [
    (lambda x, m, u: T.copy(m[0, 0], u, stride=70), "copy-option", "no multiple"),
    (lambda x, m, u: T.copy(u, u[0:8, :], stride=64), "copy-option", "between gm"),
    (lambda x, m, u: T.copy(x[0], u, stride=-64), "operand-kind", "number of elements"),
    (lambda x, m, u: T.copy(x[0], u, stride=6.5), "operand-kind", "number of elements"),
    (lambda x, m, u: T.copy(x[0], u, stride=u), "operand-kind", "the buffer"),
]


@pytest.mark.parametrize(("call", "slug", "text"), WRONG)
def test_what_is_no_stride(call: Any, slug: str, text: str) -> None:
    def k(X: T.Tensor((4096,), "float32"), M: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            u = T.alloc_ub((8, 64), "float32")
            call(X, M, u)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and text in caught.value.message


def column(rows: int, dtype: str, form: str) -> Any:
    """Column 5 of X to column 7 of Y, by way of ub."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, 24), dtype), Y: T.Tensor((rows, 40), dtype), n: T.int32):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows,), dtype)
            m = T.alloc_ub((rows, 32), dtype)
            T.tile.fill(x, 1)
            T.tile.fill(m, 1)
            if form == "vector":
                T.copy(X[0:rows, 5], x)
                T.copy(x, Y[0:rows, 7])
            elif form == "slice of one":
                T.copy(X[0:rows, 5:6], x)
                T.copy(x, Y[0:rows, 7:8])
            elif form == "run time":
                T.copy(X[0:n, 5], x[0:n])
                T.copy(x[0:n], Y[0:n, 7])
            elif form == "column":
                T.copy(X[0:rows, 5], m[:, 3])
                T.copy(m[:, 3], Y[0:rows, 7])
            elif form == "first column":
                T.copy(X[0:rows, 5], m[:, 0])
                T.copy(m[:, 0], Y[0:rows, 7])

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("rows", [2, 3, 16, 33])
@pytest.mark.parametrize("form", ["vector", "slice of one", "run time", "column", "first column"])
@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_a_column_through_a_packed_vector(form: str, rows: int, dtype: str) -> None:
    kernel = compile(column(rows, dtype, form), pass_configs=AUTOMATIC)
    x = torch.arange(rows * 24).remainder(113).reshape(rows, 24).to(getattr(torch, dtype))
    for n in (rows, 0, 1, rows - 1) if form == "run time" else (rows,):
        y = torch.zeros((rows, 40), dtype=x.dtype)
        kernel(x, y, n)
        want = torch.zeros_like(y)
        want[:n, 7] = x[:n, 5]
        np.testing.assert_array_equal(y, want)


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_a_column_that_hangs_over_the_edge_is_padded() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((20, 24), "float32"), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((32,), "float32")
            T.copy(X[4:36, 5], x, pad_value=3.0)
            T.copy(x, Y)

    x, y = torch.randn(20, 24), torch.zeros(32)
    compile(kernel, pass_configs=AUTOMATIC)(x, y)
    np.testing.assert_array_equal(y, torch.cat((x[4:, 5], torch.full((16,), 3.0))))


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_a_vector_is_added_to_a_column() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((12,), "float32"), Y: T.Tensor((12, 40), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((12,), "float32")
            T.copy(X, x)
            T.tile.atomic_add(Y[0:12, 7], x)

    x, y = torch.randn(12), torch.ones(12, 40)
    want = y.clone()
    want[:, 7] += x
    compile(kernel, pass_configs=AUTOMATIC)(x, y)
    np.testing.assert_array_equal(y, want)


def test_a_column_of_bytes_says_that_it_is_slow_and_what_is_not() -> None:
    with pytest.warns(KernelWarning, match="`x` move one by one") as told:
        compile(column(16, "int8", "vector"), pass_configs=AUTOMATIC)
    assert {str(w.message).split("[")[-1] for w in told} == {"scalar-loop]"}


def test_a_long_column_says_what_takes_it() -> None:
    with pytest.raises(KernelError, match="4 bytes apart") as caught:
        compile(column(2056, "float32", "vector"), pass_configs=AUTOMATIC)
    assert caught.value.slug == "row-alignment"
    assert "put T.alloc_ub((rows, 8), dtype)[:, 0] in the place of `x`" in str(caught.value)
