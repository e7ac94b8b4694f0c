"""Operands of products that gm has in NZ order: `T.copy(..., nz=True)`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile

from .automatic import AUTOMATIC

WIDTH = {"float16": 16, "bfloat16": 16, "float32": 8, "int8": 32}


def in_fractals(matrix: Any, width: int) -> Any:
    rows, columns = matrix.shape
    return matrix.reshape(rows // 16, 16, columns // width, width).permute(2, 0, 1, 3).contiguous()


def product(dtype: str, tiles: tuple[int, int, int], turned: bool, slots: bool) -> Any:
    """Both operands in NZ order, by tiles of m, n and k; B as [n, k] if it is turned."""
    m, n, k = tiles
    w, result = WIDTH[dtype], "int32" if dtype == "int8" else "float32"
    M, N, K = 2 * m, 2 * n, 3 * k
    b_rows, b_columns = (N, K) if turned else (K, N)
    tile = (n, k) if turned else (k, n)

    @T.prim_func
    def kernel(A: T.Tensor((K // w, M // 16, 16, w), dtype),
               B: T.Tensor((b_columns // w, b_rows // 16, 16, w), dtype),
               C: T.Tensor((M, N), result)):  # fmt: skip
        with T.Kernel(4, threads=1) as cid:
            x, y = cid // 2, cid % 2
            a = T.alloc_L1((2, m, k) if slots else (m, k), dtype)
            b = T.alloc_shared(tile, dtype)
            c = T.alloc_fragment((m, n), result)
            for i in T.Pipelined(3, num_stages=2):
                if slots:
                    T.copy(A[i * k // w, x * m // 16, 0, 0], a[i % 2, :, :], nz=True)
                else:
                    T.copy(A[i * k // w, x * m // 16, 0, 0], a, nz=True)
                if turned:
                    T.copy(B[i * k // w : (i + 1) * k // w, y * n // 16 : (y + 1) * n // 16, :, :],
                           b, nz=True)  # fmt: skip
                else:
                    T.copy(B[y * n // w, i * k // 16, 0, 0], b, nz=True)
                if slots:
                    T.gemm_v0(a[i % 2, :, :], b, c, transpose_B=turned, init=i == 0)
                else:
                    T.gemm_v0(a, b, c, transpose_B=turned, init=i == 0)
            T.copy(c, C[x * m, y * n])

    return kernel


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("dtype", "tiles"),
    [
        ("float16", (32, 48, 64)),
        ("bfloat16", (16, 16, 16)),
        ("float32", (48, 32, 16)),
        ("int8", (16, 96, 64)),
        ("int8", (64, 32, 32)),
    ],
)
def test_products_of_fractals(
    dtype: str, tiles: tuple[int, int, int], turned: bool, slots: bool
) -> None:
    m, n, k = tiles
    torch.manual_seed(m + n)
    a = torch.randint(-4, 5, (2 * m, 3 * k)).to(getattr(torch, dtype))
    b = torch.randint(-4, 5, (3 * k, 2 * n)).to(getattr(torch, dtype))
    w = WIDTH[dtype]
    stored = b.T if turned else b
    kernel = compile(product(dtype, tiles, turned, slots), out_idx=[2], pass_configs=AUTOMATIC)
    got = kernel(in_fractals(a, w), in_fractals(stored, w))
    np.testing.assert_array_equal(got.double(), a.double() @ b.double())


def test_fractals_of_many_rows() -> None:
    """More rows than the field of the distance has room for: a column at a time."""
    rows = 16 * 4200

    @T.prim_func
    def kernel(A: T.Tensor((4, rows // 16, 16, 16), "float16"),
               B: T.Tensor((64, 16), "float16"), C: T.Tensor((32, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 16), "float16")
            c = T.alloc_fragment((32, 16), "float32")
            T.copy(A[0, rows // 16 - 2, 0, 0], a, nz=True)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)

    a, b = torch.zeros(rows, 64).half(), torch.randint(-4, 5, (64, 16)).half()
    a[-32:] = torch.randint(-4, 5, (32, 64)).half()
    got = compile(kernel, out_idx=[2], pass_configs=AUTOMATIC)(in_fractals(a, 16), b)
    np.testing.assert_array_equal(got.double(), a[-32:].double() @ b.double())


@pytest.mark.parametrize(
    ("shape", "tile", "options", "slug"),
    [
        ((4, 4, 8, 32), (32, 32), {}, "shape-mismatch"),
        ((64, 64), (32, 32), {}, "shape-mismatch"),
        ((4, 4, 16, 16), (24, 32), {}, "shape-mismatch"),
        ((4, 4, 16, 16), (32, 32), {"transpose": True}, "copy-option"),
    ],
)
def test_what_is_no_load_of_fractals(
    shape: tuple[int, ...], tile: tuple[int, int], options: dict[str, Any], slug: str
) -> None:
    first = (0,) * len(shape)
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def kernel(A: T.Tensor(shape, "float16")):
            with T.Kernel(1, threads=1) as cid:
                a = T.alloc_L1(tile, "float16")
                T.copy(A[first], a, nz=True, **options)

    assert caught.value.slug == slug, str(caught.value)
