"""Guards on bounds around what reads beside its own element, as people write stencils: no scalar
loop, and the values that NumPy gives."""

from __future__ import annotations

import warnings

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override


@pytest.fixture(autouse=True)
def no_scalar_loop():
    with override(check="strict"), warnings.catch_warnings():
        warnings.filterwarnings("error", message="(?s).*scalar loop")
        yield


@pytest.mark.parametrize(("rows", "columns"), [(19, 64), (8, 40), (1, 16)])
def test_a_halo_of_rows_behind_a_guard_of_the_last_block(rows: int, columns: int) -> None:
    @T.jit(out_idx=[-1])
    def below(H, W):
        @T.prim_func
        def kernel(X: T.Tensor((H + 2, W), "float32"), Y: T.Tensor((H, W), "float32")):
            with T.Kernel(T.ceildiv(H, 8)) as b:
                for i, j in T.Parallel(8, W):
                    if b * 8 + i < H:
                        row = b * 8 + i
                        total = X[row, j] + X[row + 1, j] + X[row + 2, j]
                        Y[row, j] = T.if_then_else(total > 0, total, X[row + 1, j])

        return kernel

    x = torch.randn(rows + 2, columns)
    total = x[:-2] + x[1:-1] + x[2:]
    assert torch.equal(below(rows, columns)(x), torch.where(total > 0, total, x[1:-1]))


@pytest.mark.parametrize("rows", [1, 2, 11])
def test_a_guard_that_is_the_same_for_all_elements_beside_one_of_bounds(rows: int) -> None:
    @T.jit(out_idx=[-1])
    def neighbours(H, W):
        @T.prim_func
        def kernel(X: T.Tensor((H, W), "float32"), Y: T.Tensor((H, W - 5), "float32")):
            with T.Kernel(H) as h:
                total = T.alloc_fragment((W,), "float32")
                T.clear(total)
                for dy in T.serial(3):
                    for j in T.Parallel(W):
                        if h + dy >= 1 and h + dy <= H and j < W - 5:
                            total[j] += X[h + dy - 1, j]
                T.copy(total[: W - 5], Y[h, :])

        return kernel

    x = torch.randn(rows, 45)
    padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
    expected = (padded[:-2] + padded[1:-1] + padded[2:])[:, :40]
    torch.testing.assert_close(neighbours(rows, 45)(x), expected)


@pytest.mark.parametrize("compare", ["==", "<", ">="])
def test_an_index_against_a_label_of_64_bits(compare: str) -> None:
    """Labels are int64 in torch; one beyond 32 bits is none of the columns."""

    @T.jit(out_idx=[-1])
    def marked(M, N):
        @T.prim_func
        def kernel(L: T.Tensor((M,), "int64"), Y: T.Tensor((M, N), "float32")):
            with T.Kernel(M) as m:
                for j in T.Parallel(N):
                    if compare == "==":
                        Y[m, j] = T.if_then_else(j == L[m], 1.0, 0.0)
                    elif compare == "<":
                        Y[m, j] = T.if_then_else(j < L[m], 1.0, 0.0)
                    else:
                        Y[m, j] = T.if_then_else(L[m] <= j, 1.0, 0.0)

        return kernel

    labels = torch.tensor([0, 5, 39, 40, -1, 2**32 + 5, -(2**32) + 5, 2**63 - 1, -(2**63)])
    columns, rows = torch.arange(40)[None], labels[:, None]
    expected = {"==": columns == rows, "<": columns < rows, ">=": columns >= rows}[compare]
    assert torch.equal(marked(len(labels), 40)(labels), expected.float())


@pytest.mark.parametrize("sizes", [(40, 64), (37, 45)], ids=str)
@pytest.mark.parametrize("written", ["branch", "choice"])
def test_a_window_that_begins_before_rows_and_columns(written: str, sizes: tuple[int, int]) -> None:
    """Tiles at the corner of a plane begin early in two dimensions."""

    @T.jit(out_idx=[-1])
    def convolved(C, H, W):
        @T.prim_func
        def kernel(
            X: T.Tensor((C, H, W), "float16"), F: T.Tensor((C, 9), "float32"),
            Y: T.Tensor((C, H, W), "float32"),
        ):  # fmt: skip
            with T.Kernel(T.ceildiv(W, 32), T.ceildiv(H, 32), C, threads=128) as (bx, by, c):
                total, f = T.alloc_fragment((32, 32), "float32"), T.alloc_fragment((9,), "float32")
                T.copy(F[c, 0], f)
                T.clear(total)
                for t in T.serial(9):
                    for i, j in T.Parallel(32, 32):
                        h = by * 32 + i + t // 3 - 1
                        w = bx * 32 + j + t % 3 - 1
                        if written == "choice":
                            inside = h >= 0 and h < H and w >= 0 and w < W
                            x = T.if_then_else(inside, X[c, h, w], 0.0)
                            total[i, j] += f[t] * T.cast(x, "float32")
                        elif h >= 0 and h < H and w >= 0 and w < W:
                            total[i, j] += f[t] * T.cast(X[c, h, w], "float32")
                T.copy(total, Y[c, by * 32, bx * 32])

        return kernel

    x, f = torch.randn(3, *sizes).half(), torch.randn(3, 9)
    expected = torch.nn.functional.conv2d(x.float(), f.view(3, 1, 3, 3), padding=1, groups=3)
    torch.testing.assert_close(convolved(3, *sizes)(x, f), expected, rtol=1e-4, atol=1e-4)


def planes(C: int, H: int, W: int, dtype: str, written: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((C, H, W), dtype), F: T.Tensor((C, 3, 3), "float32"),
        Y: T.Tensor((C, H, W), "float32"),
    ):  # fmt: skip
        with T.Kernel(C) as c:
            total = T.alloc_fragment((H, W), "float32")
            f = T.alloc_shared((3, 3), "float32")
            T.copy(F[c, 0, 0], f)
            T.clear(total)
            for p in T.serial(3):
                for q in T.serial(3):
                    for i, j in T.Parallel(H, W):
                        h, w = i + p - 1, j + q - 1
                        inside = h >= 0 and h < H and w >= 0 and w < W
                        if written == "choice":
                            x = T.if_then_else(inside, X[c, h, w], T.cast(0, dtype))
                            total[i, j] += x * f[p, q]
                        elif h >= 0 and h < H and w >= 0 and w < W:
                            total[i, j] += X[c, h, w] * f[p, q]
            T.copy(total, Y[c, 0, 0])

    return kernel


def variables(C: int, H: int, W: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((C, H, W), dtype), F: T.Tensor((C, 3, 3), "float32"),
        Y: T.Tensor((C, H, W), "float32"),
    ):  # fmt: skip
        with T.Kernel(C) as c:
            for i, j in T.Parallel(H, W):
                total = T.alloc_var("float32", init=0.0)
                for p in T.serial(3):
                    for q in T.serial(3):
                        h, w = i + p - 1, j + q - 1
                        if h >= 0 and h < H and w >= 0 and w < W:
                            total += X[c, h, w] * F[c, p, q]
                Y[c, i, j] = total

    return kernel


def rows(C: int, H: int, W: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((C, H, W), dtype), F: T.Tensor((C, 3, 3), "float32"),
        Y: T.Tensor((C, H, W), "float32"),
    ):  # fmt: skip
        with T.Kernel(H, C) as (h, c):
            total = T.alloc_fragment((W,), "float32")
            f = T.alloc_shared((3, 3), "float32")
            T.copy(F[c, 0, 0], f)
            T.clear(total)
            for p in T.serial(3):
                if h + p - 1 >= 0 and h + p - 1 < H:
                    for q in T.serial(3):
                        for j in T.Parallel(W):
                            if j + q - 1 >= 0 and j + q - 1 < W:
                                total[j] += X[c, h + p - 1, j + q - 1] * f[p, q]
            T.copy(total, Y[c, h, 0])

    return kernel


@pytest.mark.parametrize("sizes", [(16, 64), (13, 58), (5, 20)], ids=str)
@pytest.mark.parametrize("written", ["branch", "choice", "variable", "row"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_window_around_whole_planes(dtype: str, written: str, sizes: tuple[int, int]) -> None:
    """Rows of gm that begin an element before the tile, under guards of their bounds."""
    shape = (2, *sizes)
    if written == "variable":
        kernel = variables(*shape, dtype)
    else:
        kernel = rows(*shape, dtype) if written == "row" else planes(*shape, dtype, written)
    x, f = torch.randn(shape).to(getattr(torch, dtype)), torch.randn(2, 3, 3)
    expected = torch.nn.functional.conv2d(x.float(), f[:, None], padding=1, groups=2)
    found = T.compile(kernel, out_idx=[-1])(x, f)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
