"""Launches of a few blocks: rows of their tiles become blocks of their own where cores are idle,
with the same results, at strict."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_passes.explain.tiles import explain_tiles
from tile_passes.pass_options import FOR_SPEED, PassOptions, left_by

pytestmark = pytest.mark.usefixtures("strict")


@T.jit(out_idx=[-1])
def few_rows(M, N, K, block_N=512, block_K=128):
    """A product of few rows, whose tiles are as wide as a few blocks of the weights."""

    @T.prim_func
    def product(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, block_K), "float16")
            b = T.alloc_shared((block_K, block_N), "float16")
            total = T.alloc_fragment((64, block_N), "float32")
            for k in T.serial(T.ceildiv(K, block_K)):
                T.copy(A[by * 64, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm(a, b, total, clear_accum=(k == 0))
            T.copy(total, C[by * 64, bx * block_N])

    return product


@T.jit(out_idx=[-1])
def rms_norm(M, N, rows=16):
    @T.prim_func
    def normed(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=2) as cid:
            x = T.alloc_shared((rows, N), "float32")
            square = T.alloc_shared((rows, N), "float32")
            total = T.alloc_shared((rows,), "float32")
            T.copy(X[cid * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=-1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / N + 1e-5)
            T.copy(x, Y[cid * rows, 0])

    return normed


def blocks_of(kernel: Any) -> int:
    return int(kernel.lowered.launch.blocks.value)


@pytest.mark.parametrize("columns", [2048, 2000])
def test_a_product_of_few_rows_takes_more_cores(columns: int) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(60, 2048).half(), (torch.randn(2048, columns) / 45).half()
    kernel = few_rows(60, columns, 2048)
    assert blocks_of(kernel) == 16
    torch.testing.assert_close(kernel(a, b).float(), a.float() @ b.float(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("tokens", [32, 27])
def test_rows_of_a_norm_take_more_cores(tokens: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(tokens, 4096)
    kernel = rms_norm(tokens, 4096)
    assert blocks_of(kernel) > 2
    expected = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
    torch.testing.assert_close(kernel(x), expected, rtol=1e-4, atol=1e-4)


def test_small_launches_stay() -> None:
    """What takes a microsecond or two waits for its start."""
    assert blocks_of(rms_norm(16, 64)) == 1


def test_the_division_is_explained() -> None:
    kernel = few_rows(60, 2048, 2048)
    func = left_by(kernel.func, PassOptions(for_speed=tuple(FOR_SPEED)))
    assert "rows of tiles make 16 blocks of 4" in explain_tiles(func, kernel.target)
