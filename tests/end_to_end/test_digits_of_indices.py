"""Elements that are stored to by the digits of their number, as kernels for GPUs address tensors of
several dimensions, and conditions of which a part is the same for all elements."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@jit
def windows(X, kind: str, size: int, step: int, pad: int, block: int):
    """The greatest or the sum of each window of a row, as far as it lies inside; a window with a
    NaN has NaN. The number of an output is cut into its digits."""
    N, C, L = T.const("N, C, L")
    X: T.Tensor((N, C, L), "float32")
    W = (L + 2 * pad - size) // step + 1
    Y = T.empty((N, C, W), "float32")
    with T.Kernel(T.ceildiv(N * C * W, block), threads=128) as bx:
        for i in T.Parallel(block):
            number = bx * block + i
            if number < N * C * W:
                w = number % W
                row = number // W
                c = row % C
                n = row // C
                found = T.alloc_var("float32")
                odd = T.alloc_var("bool")
                found = T.cast(0.0 if kind == "sum" else float("-inf"), "float32")
                odd = False
                for k in T.serial(size):
                    at = w * step - pad + k
                    if at >= 0 and at < L:
                        value = X[n, c, at]
                        if T.isnan(value):
                            odd = True
                        if kind == "sum":
                            found += value
                        else:
                            found = T.max(found, value)
                Y[n, c, w] = T.if_then_else(odd, T.cast(float("nan"), "float32"), found)
    return Y


@pytest.mark.parametrize("kind", ["greatest", "sum"])
@pytest.mark.parametrize("shape, size, step, pad, block", [
    ((2, 3, 19), 3, 2, 1, 16), ((1, 1, 8), 8, 1, 0, 4), ((3, 2, 7), 2, 3, 1, 32),
])  # fmt: skip
def test_windows_are_stored_by_the_digits_of_their_number(
    shape: tuple[int, ...], size: int, step: int, pad: int, block: int, kind: str
) -> None:
    torch.manual_seed(size)
    x = torch.randn(shape)
    x[0, 0, 4] = float("nan")
    pool = torch.nn.functional.max_pool1d
    if kind == "sum":
        expected = torch.nn.functional.avg_pool1d(x.double(), size, step, pad) * size
    else:
        expected = pool(x.nan_to_num(-9.0), size, step, pad).double()
        odd = pool(x.isnan().float(), size, step, pad) > 0
        expected[odd] = float("nan")
    found = windows(x, kind, size, step, pad, block)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-6, equal_nan=True)


@jit
def padded_rows(X, rows: int, width: int, either: bool):
    """Rows with a value behind their ends, and whole rows of it behind the last one."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float16")
    Y = T.empty((M, width), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        wide = T.alloc_fragment((rows, width), "float32")
        for i in T.serial(rows):
            for j in T.Parallel(width):
                row = bx * rows + i
                if either:
                    wide[i, j] = T.if_then_else(
                        T.Or(row >= M, j >= N), -3.0, T.cast(X[row, j], "float32")
                    )
                else:
                    wide[i, j] = T.if_then_else(
                        T.And(row < M, j < N), T.cast(X[row, j], "float32"), -3.0
                    )
        T.copy(wide, Y[bx * rows, 0])
    return Y


def quiet(call: Any) -> Any:
    """What the call gives, without a warning that something is slow or left to chance."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    told = [str(w.message) for w in caught]
    assert not [t for t in told if "[scalar-loop]" in t or "[partly-written]" in t], told
    return result


@pytest.mark.parametrize("either", [False, True])
@pytest.mark.parametrize("shape", [(5, 300), (8, 256), (1, 17)])
def test_a_condition_that_all_elements_share_is_a_branch(
    shape: tuple[int, int], either: bool
) -> None:
    x = torch.randn(shape).half()
    expected = torch.full((shape[0], 512), -3.0).half()
    expected[:, : shape[1]] = x
    assert torch.equal(quiet(lambda: padded_rows(x, 4, 512, either)), expected)


@T.macro
def scaled(X, rows: int, pad: bool, by):
    """A kernel as a macro, as a package shares it between signatures."""
    M, N = X.shape
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        if pad:
            wide = T.alloc_fragment((rows, 512), "float32")
        else:
            wide = T.alloc_fragment((rows, N), "float32")
        for i, j in T.Parallel(rows, 512 if pad else N):
            wide[i, j] = by
        for i, j in T.Parallel(rows, 512 if pad else N):
            if T.And(bx * rows + i < M, j < N):
                value = X[bx * rows + i, j] * wide[i, j]
                value += 1.0
                X[bx * rows + i, j] = value


@jit
def scaling(M: int, N: int, pad: bool):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32")):
        scaled(X, 4, pad, 2.5)

    return main


@pytest.mark.parametrize("shape", [(5, 300), (1, 17)])
def test_the_dialect_of_a_kernel_is_that_of_its_macros(shape: tuple[int, int]) -> None:
    for pad in (False, True):
        x = torch.randn(shape)
        expected = x * 2.5 + 1
        quiet(lambda: scaling(*shape, pad)(x))  # noqa: B023 - called at once
        torch.testing.assert_close(x, expected)


@jit(out_idx=[-1])
def by_number(block: int, names: bool):
    """Each element by its number among all, as one thread of many takes one."""
    L, M, N = T.dynamic("L"), T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def main(A: T.Tensor((L, M, N), "float32"), C: T.Tensor((L, M, N), "float32")):
        with T.Kernel(T.ceildiv(L * M * N, block), threads=block) as bx:
            for i in T.Parallel(block):
                k = bx * block + i
                if names:
                    row = k // N
                    if row // M < L:
                        C[row // M, row % M, k % N] = A[row // M, row % M, k % N] * 2
                elif k < L * M * N:
                    C[k // (M * N), k // N % M, k % N] = A[k // (M * N), k // N % M, k % N] * 2

    return main


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 50), (1, 4, 64), (3, 1, 5), (0, 3, 8)])
def test_elements_by_their_number_are_neighbours(shape: tuple[int, int, int], names: bool) -> None:
    a = torch.randn(shape)
    found = quiet(lambda: by_number(64, names)(a))
    assert torch.equal(found, a * 2)
