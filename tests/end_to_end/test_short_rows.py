"""Copies of rows and columns that are no whole blocks of 32 bytes: they move together, by vector
instructions, and elements at the edge of a tensor are cut or padded as in any copy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

DTYPES = ["float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8"]
# Rows and columns of a tile, and the first column that it takes.
FORMS = ((33, 7, 8), (24, 1, 5), (24, 33, 1), (40, 12, 0))
ROWS, COLUMNS, BLOCKS = 61, 50, 2


def there_and_back(dtype: str) -> Any:
    @T.prim_func
    def kernel(
        X: T.Tensor((ROWS, COLUMNS), dtype),
        Y: T.Tensor((len(FORMS) + 1, ROWS, COLUMNS), dtype),
    ):
        with T.Kernel(BLOCKS, threads=1, is_npu=True) as cid:
            for n, (rows, columns, first) in enumerate(FORMS):
                tile = T.alloc_shared((rows, columns), dtype)
                T.copy(X[cid * rows : (cid + 1) * rows, first : first + columns], tile)
                T.copy(tile, Y[n, cid * rows : (cid + 1) * rows, first : first + columns])
            line = T.alloc_shared((31,), dtype)
            T.copy(X[cid * 31 : (cid + 1) * 31, 3], line)
            T.copy(line, Y[len(FORMS), cid * 31 : (cid + 1) * 31, 4])

    return kernel


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_rows_and_columns(dtype: str) -> None:
    x = torch.randint(0, 100, (ROWS, COLUMNS)).to(getattr(torch, dtype))
    y = torch.zeros(len(FORMS) + 1, ROWS, COLUMNS, dtype=x.dtype)
    want = y.clone()
    for n, (rows, columns, first) in enumerate(FORMS):
        part = slice(0, BLOCKS * rows), slice(first, first + columns)
        want[n][part] = x[part]
    want[len(FORMS), :62, 4] = x[:62, 3]
    with warnings.catch_warnings():
        # Columns of bytes are still loaded one by one, and a remark says so.
        warnings.simplefilter("ignore" if x.dtype.itemsize == 1 else "error")
        compile(there_and_back(dtype))(x, y)
    np.testing.assert_array_equal(y.float(), want.float())


def test_columns_are_padded_and_converted() -> None:
    """Rows behind the tensor have the pad value, and the tile may be of another type."""

    @T.prim_func
    def kernel(X: T.Tensor((40, 9), "float16"), Y: T.Tensor((48, 3), "float32")):
        with T.Kernel(2, threads=1, is_npu=True) as cid:
            tile = T.alloc_shared((24, 3), "float32")
            T.copy(X[cid * 24 : (cid + 1) * 24, 4:7], tile, pad_value=1)
            T.copy(tile, Y[cid * 24 : (cid + 1) * 24, :])

    x, y = torch.randn(40, 9).half(), torch.zeros(48, 3)
    compile(kernel)(x, y)
    want = torch.cat((x[:, 4:7].float(), torch.ones(8, 3)))
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("columns", [7, 33, 100])
def test_rows_of_a_tile_that_start_inside_blocks_move_one_at_a_time(
    columns: int, dtype: str
) -> None:
    """Rows of a table by their numbers, and the rows of a tile in another order."""

    @T.prim_func
    def kernel(
        E: T.Tensor((50, columns), dtype), N: T.Tensor((24,), "int32"),
        Y: T.Tensor((24, columns), dtype),
    ):  # fmt: skip
        with T.Kernel(3) as b:
            e = T.alloc_shared((8, columns), dtype)
            for i in T.serial(8):
                T.copy(E[N[b * 8 + i], 0:columns], e[i, 0:columns])
            for i in T.serial(8):
                T.copy(e[7 - i, 0:columns], Y[b * 8 + i, 0:columns])

    table = torch.randint(-99, 99, (50, columns)).to(getattr(torch, dtype))
    numbers = torch.randint(0, 50, (24,), dtype=torch.int32)
    expected = table[numbers.long()].view(3, 8, columns).flip(1).reshape(24, columns)
    assert torch.equal(compile(kernel, out_idx=[-1])(table, numbers), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("start", "count"), [(3, 13), (5, 40), (1, 63)])
def test_a_part_of_a_line_that_starts_inside_a_block(start: int, count: int, dtype: str) -> None:
    """What lies beside it keeps its value."""

    @T.prim_func
    def kernel(X: T.Tensor((6, 64), dtype), Y: T.Tensor((6, 64), dtype)):
        with T.Kernel(6) as b:
            x = T.alloc_shared((64,), dtype)
            T.fill(x, -1)
            T.copy(X[b, 0:count], x[start : start + count])
            T.copy(x, Y[b, :])

    x, expected = torch.randn(6, 64).to(getattr(torch, dtype)), torch.full((6, 64), -1.0)
    expected[:, start : start + count] = x[:, :count].float()
    assert torch.equal(compile(kernel, out_idx=[-1])(x).float(), expected)
