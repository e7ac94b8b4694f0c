"""A grid dealt out to the cores of the chip does what the grid does, bit for bit, at strict."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override

AUTO = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: False,
}
PERSISTENT = {**AUTO, T.PassConfigKey.TL_ASCEND_PERSISTENT: True}
# Fewer blocks than the 24 cores, as many, one more, and several waves with and without a short one.
GRIDS = (1, 23, 24, 25, 48, 77)


def scaled(rows: Any) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((rows, 64), "float32"), Y: T.Tensor((rows, 64), "float32")):
        with T.Kernel(T.ceildiv(rows, 4), threads=2, is_npu=True) as cid:
            x = T.alloc_shared((4, 64), "float32")
            y = T.alloc_shared((4, 64), "float32")
            T.copy(X[cid * 4, 0], x)
            for i, j in T.Parallel(4, 64):
                y[i, j] = x[i, j] * 3.0
            T.copy(y, Y[cid * 4, 0])

    return kernel


def scale(blocks: int) -> T.PrimFunc:
    return scaled(blocks * 4)


def scale_any(_: int) -> T.PrimFunc:
    return scaled(T.symbolic("rows"))


def multiply(blocks: int) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((blocks * 32, 64), "float16"), Y: T.Tensor((blocks * 32, 64), "float16")
    ):
        with T.Kernel(blocks, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((64, 32), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            for k in T.Pipelined(2, num_stages=2):
                T.copy(X[cid * 32, k * 32], a)
                T.copy(X[0:32, k * 32 : k * 32 + 32], b[0:32, :])
                T.copy(X[0:32, k * 32 : k * 32 + 32], b[32:64, :])
                T.gemm_v0(a, b, c, transpose_B=True, init=(k == 0))
            T.copy(c, Y[cid * 32, 0])

    return kernel


def multiply_and_clamp(blocks: int) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((blocks * 32, 64), "float16"), Y: T.Tensor((blocks * 32, 32), "float32")
    ):
        with T.Kernel(blocks, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            y = T.alloc_shared((32, 32), "float32")
            for k in T.Pipelined(2, num_stages=2):
                T.copy(X[cid * 32, k * 32], a)
                T.copy(X[0, k * 32], b)
                T.gemm_v0(a, b, c, transpose_B=True, init=(k == 0))
            T.copy(c, y)
            for i, j in T.Parallel(32, 32):
                y[i, j] = T.max(y[i, j], 0.0)
            T.copy(y, Y[cid * 32, 0])

    return kernel


def ran(make: Any, blocks: int, configs: dict[Any, bool], given: torch.Tensor) -> torch.Tensor:
    with override(check="strict"):
        result = T.compile(make(blocks), out_idx=[1], pass_configs=configs)(given)
    assert isinstance(result, torch.Tensor)
    return result


@pytest.mark.parametrize("blocks", GRIDS)
@pytest.mark.parametrize("make", [scale, scale_any, multiply, multiply_and_clamp])
def test_a_persistent_grid_equals_the_grid(make: Any, blocks: int) -> None:
    torch.manual_seed(0)
    is_vector = make in (scale, scale_any)
    rows, dtype = (blocks * 4, torch.float32) if is_vector else (blocks * 32, torch.float16)
    given = torch.randn(rows, 64).to(dtype)
    assert torch.equal(ran(make, blocks, PERSISTENT, given), ran(make, blocks, AUTO, given))


def test_what_waits_for_all_blocks_is_refused() -> None:
    @T.prim_func
    def meet(X: T.Tensor((400, 64), "float32"), Y: T.Tensor((400, 64), "float32")):
        with T.Kernel(100, is_npu=True) as (cid, vid):
            x = T.alloc_ub((4, 64), "float32")
            T.copy(X[cid * 4, 0], x)
            T.sync_all()
            T.copy(x, Y[cid * 4, 0])

    with pytest.raises(KernelError, match="waits for all blocks"):
        T.compile(meet, out_idx=[1], pass_configs=PERSISTENT)
