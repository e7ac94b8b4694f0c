"""Loads of tasks that need not wait for other tasks: where they stand, and that results stay."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from end_to_end import task_kernels as kernels
from tile_ir.switches import override

pytestmark = pytest.mark.usefixtures("strict")

F32 = "float32"


def streamed(M: int, N: int, K: int, tile: int = 32, step: int = 32) -> T.PrimFunc:
    """Y = X @ W, a part of K at a time, for more tiles than the chip has cube cores."""

    @T.prim_func
    def gemm(
        X: T.Tensor((M, K), "float16"), W: T.Tensor((K, N), "float16"), Y: T.Tensor((M, N), F32)
    ):
        with T.Kernel(M // tile * (N // tile), threads=2, is_npu=True) as cid:
            row, column = cid // (N // tile) * tile, cid % (N // tile) * tile
            x = T.alloc_shared((tile, step), "float16")
            w = T.alloc_shared((step, tile), "float16")
            y = T.alloc_fragment((tile, tile), F32)
            for k in T.Pipelined(K // step, num_stages=2):
                T.copy(X[row, k * step], x)
                T.copy(W[k * step, column], w)
                T.gemm_v0(x, w, y, init=(k == 0))
            T.copy(y, Y[row, column])

    return gemm


def scaled_by(rows: int, width: int, tile: int = 8) -> T.PrimFunc:
    """Y = (X + first) * second: both go through one tile, one after the other."""

    @T.prim_func
    def scale_by(
        X: T.Tensor((rows, width), F32), first: T.Tensor((1, width), F32),
        second: T.Tensor((1, width), F32), Y: T.Tensor((rows, width), F32),
    ):  # fmt: skip
        with T.Kernel(rows // tile, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            w = T.alloc_shared((1, width), F32)
            T.copy(first[0, 0], w)
            T.copy(X[cid * tile, 0], a)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] + w[0, j]
            T.copy(second[0, 0], w)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] * w[0, j]
            T.copy(a, Y[cid * tile, 0])

    return scale_by


def order_of(source: str, *parts: str) -> list[str]:
    """The parts in the order in which they first stand in a source."""
    return sorted(parts, key=source.index)


def test_weights_are_loaded_before_the_wait_and_rows_behind_it() -> None:
    norm, gemm = T.Task(kernels.normed(64, 1024)), T.Task(streamed(64, 1024, 1024))
    kernel = T.compile(T.megakernel([norm("x", "n"), gemm("n", "w", "y")]), out_idx=[-1])
    source = kernel.get_kernel_source()
    cube = source[source.index("task gemm") : source.index("ASCEND_IS_AIV")]
    assert order_of(cube, ", w[", "fresh_word", ", n[") == [", w[", "fresh_word", ", n["]
    # What is there of the first iteration is not loaded again.
    assert "if (k_1 != 0)" in cube
    each = [T.compile(k, out_idx=[-1]) for k in (norm.func, gemm.func)]
    for seed in range(4):
        x, w = torch.randn(64, 1024), torch.randn(1024, 1024).half() / 32
        with override(seed=seed):
            assert torch.equal(kernel(x, w), each[1](each[0](x), w))


def test_a_tile_that_is_used_before_is_not_overwritten() -> None:
    back, scale = T.Task(kernels.reversed_rows(64, 64)), T.Task(scaled_by(64, 64, 16))
    func = T.megakernel([back("x", "h"), scale("h", "a", "b", "y")])
    kernel = T.compile(func, out_idx=[-1])
    text = kernel.get_kernel_source().partition("task scale_by")[2]
    assert order_of(text, ", a, ", "fresh_word", ", b, ") == [", a, ", "fresh_word", ", b, "]
    x, a, b = torch.randn(64, 64), torch.randn(1, 64), torch.randn(1, 64)
    back_x = x.view(8, 8, 64).flip(0).reshape(64, 64)
    for order in ({}, {"seed": 1}, {"starve": "aiv0"}, {"starve": "aiv1"}):
        with override(**order):
            torch.testing.assert_close(kernel(x, a, b), (back_x + a) * b)


@pytest.mark.parametrize("write", [False, True])
def test_what_a_task_writes_is_not_loaded_early(write: bool) -> None:
    """The second factor is a parameter that an earlier task of the launch writes, or does not."""
    back, add = T.Task(kernels.reversed_rows(64, 64)), T.Task(kernels.added(64, 64, 16))
    calls: list[Any] = [back("x", "z")] if write else []
    func = T.megakernel(
        [*calls, back("x", "h"), add("z", "h", "y")], inputs=["x", "z"], outputs=["y"]
    )
    kernel = T.compile(func, out_idx=[-1])
    text = kernel.get_kernel_source().partition("task add")[2]
    first = "fresh_word" if write else ", z["
    assert order_of(text, ", z[", "fresh_word")[0] == first
    x, z = torch.randn(64, 64), torch.randn(64, 64)
    back_x = x.view(8, 8, 64).flip(0).reshape(64, 64)
    expected = back_x * 2 if write else back_x + z
    torch.testing.assert_close(kernel(x, z), expected)
