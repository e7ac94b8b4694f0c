"""T.annotate_safe_value: what copies, elements and gathered rows read outside a tensor. Each runs at
`strict` against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")
X = torch.randn(10, 8)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def around(value: float, row: int, column: int) -> torch.Tensor:
    """16 x 8 elements of X from a place on, and the value where there are none."""
    wide = torch.full((64, 64), float(value))
    wide[20:30, 20:28] = X
    return wide[20 + row : 36 + row, 20 + column : 28 + column]


def test_copies_and_elements() -> None:
    @T.prim_func
    def k(A: T.Tensor((10, 8), "float32"), s: T.int32, B: T.Tensor((16, 8), "float32"),
          C: T.Tensor((16, 8), "float16"), D: T.Tensor((16, 8), "float32"),
          E: T.Tensor((16, 8), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            T.annotate_safe_value({A: -7.0})
            a = T.alloc_shared((16, 8), "float32")
            h = T.alloc_fragment((16, 8), "float16")
            T.copy(A[0, 0], a)
            T.copy(a, B)
            T.copy(A[s, s], h)
            T.copy(h, C)
            for i, j in T.Parallel(16, 8):
                a[i, j] = A[i + s, j - 1] * 2
            T.copy(a, D)
            for i, j in T.grid(16, 8):
                E[i, j] = A[i, j]

    b, c, d, e = compile(k, out_idx=[2, 3, 4, 5])(X, -3)
    assert torch.equal(b, around(-7, 0, 0))
    assert torch.equal(c, around(-7, -3, -3).half())
    assert torch.equal(d, around(-7, -3, -1) * 2)
    assert torch.equal(e, around(-7, 0, 0))


def test_rows_of_other_numbers() -> None:
    @T.prim_func
    def k(A: T.Tensor((10, 8), "float32"), R: T.Tensor((16,), "int32"),
          B: T.Tensor((16, 8), "float32"), C: T.Tensor((16, 8), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            T.annotate_safe_value({A: 5})
            a = T.alloc_shared((16, 8), "float32")
            for i, j in T.Parallel(16, 8):
                a[i, j] = A[R[i], j]
            T.copy(a, B)
            for i in T.serial(16):
                T.copy(A[R[i], :], a[i, :])
            T.copy(a, C)

    rows = torch.randint(0, 10, (16,)).int()
    rows[3], rows[5] = -1, 12
    expected = X[rows.clamp(0, 9).long()]
    expected[[3, 5]] = 5
    b, c = compile(k, out_idx=[2, 3])(X, rows)
    assert torch.equal(b, expected) and torch.equal(c, expected)


def test_an_operand_of_a_product() -> None:
    @T.prim_func
    def k(A: T.Tensor((10, 16), "float16"), B: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=128) as bx:
            T.annotate_safe_value({A: 1.0})
            a = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A[0, 0], a)
            T.gemm(a, a, c, transpose_B=True, clear_accum=True)
            T.copy(c, B)

    x = torch.randn(10, 16).half()
    whole = torch.cat([x, torch.ones(6, 16).half()]).float()
    torch.testing.assert_close(compile(k, out_idx=-1)(x), whole @ whole.T, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("values", ["a tile", "a list", "no number", "gm to gm"])
def test_what_is_no_safe_value(values: str) -> None:
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((16,), "float32")
                given = {
                    "a tile": {a: 1}, "a list": [A], "no number": {A: "zero"}, "gm to gm": {A: 1},
                }  # fmt: skip
                T.annotate_safe_value(given[values])
                T.copy(A, B)

    slug = "copy-option" if values == "gm to gm" else "annotation"
    assert caught.value.slug == slug and caught.value.hint


def test_a_row_that_is_marked_as_none_is_0() -> None:
    """Rows whose number is an element, a name of one, or one of a tile; also of an operand."""

    @T.prim_func
    def k(A: T.Tensor((10, 16), "float16"), R: T.Tensor((16,), "int32"),
          B: T.Tensor((16, 16), "float16"), C: T.Tensor((16,), "float16"),
          D: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 16), "float16")
            b = T.alloc_shared((16, 16), "float16")
            d = T.alloc_fragment((16, 16), "float32")
            r = T.alloc_shared((16,), "int32")
            T.copy(R, r)
            for i, j in T.Parallel(16, 16):
                a[i, j] = A[R[i], j]
            for i, j in T.Parallel(16, 16):
                row = R[i]
                b[i, j] = A[row, j] + 1
            T.copy(b, B)
            for i in T.serial(16):
                C[i] = A[r[i], 3]
            T.gemm(a, a, d, transpose_B=True, clear_accum=True)
            T.copy(d, D)

    x, rows = torch.randn(10, 16).half(), torch.randint(0, 10, (16,)).int()
    rows[3], rows[5] = -1, 12
    expected = x[rows.clamp(0, 9).long()]
    expected[[3, 5]] = 0
    b, c, d = compile(k, out_idx=[2, 3, 4])(x, rows)
    assert torch.equal(b, expected + 1) and torch.equal(c, expected[:, 3])
    product = expected.float() @ expected.float().T
    torch.testing.assert_close(d, product, rtol=1e-2, atol=1e-2)


def test_a_copy_of_a_row_that_is_none_moves_nothing() -> None:
    """Zeros on the way in, also in an operand, and nothing on the way out."""

    @T.prim_func
    def k(A: T.Tensor((10, 16), "float16"), R: T.Tensor((16,), "int32"),
          B: T.Tensor((16, 16), "float16"), C: T.Tensor((10, 16), "float16"),
          D: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 16), "float16")
            b = T.alloc_shared((16, 16), "float16")
            d = T.alloc_fragment((16, 16), "float32")
            for i in T.serial(16):
                row = R[i]
                T.copy(A[row, :], a[i, :])
                T.copy(A[R[i], 0], b[i, :])
            T.copy(b, B)
            for i in T.serial(16):
                T.copy(b[i, :], C[R[i], :])
            T.gemm(a, a, d, transpose_B=True, clear_accum=True)
            T.copy(d, D)

    x, rows = torch.randn(10, 16).half(), torch.randint(0, 10, (16,)).int()
    rows[3], rows[5] = -1, 12
    expected = x[rows.clamp(0, 9).long()]
    expected[[3, 5]] = 0
    found = [torch.zeros(16, 16).half(), torch.zeros(10, 16).half(), torch.zeros(16, 16)]
    compile(k)(x, rows, *found)
    stored = torch.zeros(10, 16).half()
    inside = rows[(rows >= 0) & (rows < 10)].long()
    stored[inside] = x[inside]
    assert torch.equal(found[0], expected) and torch.equal(found[1], stored)
    product = expected.float() @ expected.float().T
    torch.testing.assert_close(found[2], product, rtol=1e-2, atol=1e-2)
