"""Elements of gm that a block stores and reads again: counters, rows in place, running sums. Each
block has its own, in lines of the data cache that other blocks write too."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_runtime import jit

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]

M, N, G = 6, 11, 5
NAMED = {
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float32": torch.float32,
}


@jit
def counted(threads: int, dtype: str) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "int32"), H: T.Tensor((M // 2, 2, G), dtype)):
        with T.Kernel(2, M // 2, threads=threads) as (c, b):
            for i in T.serial(N):
                if X[b * 2 + c, i] >= 0:
                    H[b, c, X[b * 2 + c, i]] += 1

    return kernel


@pytest.mark.parametrize("threads", [1, 128])
@pytest.mark.parametrize("dtype", NAMED)
def test_rows_of_counters_are_of_a_block(threads: int, dtype: str) -> None:
    x = torch.randint(-1, G, (M, N), dtype=torch.int32)
    h = torch.randint(0, 9, (M // 2, 2, G)).to(NAMED[dtype])
    rows = [torch.bincount(row[row >= 0], minlength=G) for row in x]
    expected = h + torch.stack(rows).view_as(h).to(h.dtype)
    counted(threads, dtype)(x, h)
    assert torch.equal(h, expected)


@jit
def chunks(size: int, length: int, rounds: int) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((length,), "float32"), S: T.Tensor((length,), "float32")):
        with T.Kernel(T.ceildiv(length, size), threads=128) as b:
            for _r in T.serial(rounds):
                for i in T.serial(size):
                    if b * size + i < length:
                        S[b * size + i] = S[b * size + i] * 0.5 + X[b * size + i]

    return kernel


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize(("size", "length"), [(6, 41), (1, 9), (7, 7)])
def test_parts_of_a_row_are_of_a_block(size: int, length: int, rounds: int) -> None:
    x, s = torch.randn(length), torch.randn(length)
    expected = s.clone()
    for _ in range(rounds):
        expected = expected * 0.5 + x
    chunks(size, length, rounds)(x, s)
    torch.testing.assert_close(s, expected)


@jit
def running_sums() -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=128) as b:
            Y[b, 0] = X[b, 0]
            for i in T.serial(1, N):
                Y[b, i] = Y[b, i - 1] + X[b, i]

    return kernel


def test_sums_run_in_an_output() -> None:
    x = torch.randn(M, N)
    y = torch.full((M, N), torch.nan)
    running_sums()(x, y)
    torch.testing.assert_close(y, x.cumsum(1))


@jit
def rescaled(part: int) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((M * part,), "float32"), S: T.Tensor((M,), "float32")):
        with T.Kernel(M, threads=128) as b:
            x = T.alloc_fragment((part,), "float32")
            most = T.alloc_fragment((1,), "float32")
            for i in T.Parallel(part):
                x[i] = X[b * part + i] * S[b]
            T.reduce_absmax(x, most, dim=0)
            S[b] = most[0]

    return kernel


def test_a_number_that_scales_a_tile_is_replaced() -> None:
    x, s = torch.randn(M, 32), torch.rand(M)
    expected = (x * s[:, None]).abs().amax(1)
    rescaled(32)(x.flatten(), s)
    torch.testing.assert_close(s, expected)
