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
