"""Blocks of a grid whose rows no two lanes can share: each vector core runs blocks of its own, with
the same results, at strict."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

# More blocks than the 24 cores: in pairs, one behind the pairs, and several waves with a short one.
GRIDS = (25, 48, 77)
OFF = {T.PassConfigKey.TL_ASCEND_PERSISTENT: False}


def total(blocks: int, **options: Any) -> Any:
    """The sum of a whole block, which no lane has alone."""

    @T.jit(out_idx=[-1], **options)
    def kernel(blocks):
        @T.prim_func
        def text(X: T.Tensor((blocks, 4, 64), "float32"), Y: T.Tensor((blocks, 4, 64), "float32")):
            with T.Kernel(blocks, threads=128) as cid:
                x = T.alloc_shared((4, 64), "float32")
                rows = T.alloc_fragment((4,), "float32")
                whole = T.alloc_fragment((1,), "float32")
                T.copy(X[cid, 0, 0], x)
                T.reduce_sum(x, rows, dim=1)
                T.reduce_sum(rows, whole, dim=0)
                for i, j in T.Parallel(4, 64):
                    x[i, j] = x[i, j] - whole[0]
                T.copy(x, Y[cid, 0, 0])

        return text

    return kernel(blocks)


def bisected(blocks: int, **options: Any) -> Any:
    """A bound that a loop finds for a row, of a grid of two dimensions."""

    @T.jit(out_idx=[-1], **options)
    def kernel(blocks):
        @T.prim_func
        def text(X: T.Tensor((blocks, 2, 64), "float32"), Y: T.Tensor((blocks, 2, 64), "float32")):
            with T.Kernel(blocks, 2, threads=128) as (bx, by):
                x = T.alloc_shared((1, 64), "float32")
                y = T.alloc_fragment((1, 64), "float32")
                s = T.alloc_fragment((1,), "float32")
                low = T.alloc_var("float32")
                high = T.alloc_var("float32")
                T.copy(X[bx, by, 0], x)
                low = 0.0
                high = 1.0
                for _ in T.serial(6):
                    for i, j in T.Parallel(1, 64):
                        y[i, j] = T.if_then_else(x[i, j] >= (low + high) * 0.5, 1.0, 0.0)
                    T.reduce_sum(y, s, dim=1)
                    if s[0] >= 16.0:
                        low = (low + high) * 0.5
                    else:
                        high = (low + high) * 0.5
                for i, j in T.Parallel(1, 64):
                    y[i, j] = T.if_then_else(x[i, j] >= low, x[i, j], 0.0)
                T.copy(y, Y[bx, by, 0])

        return text

    return kernel(blocks)


def normed(blocks: int, **options: Any) -> Any:
    """A total of a block that two loops over its tiles use: only the second one's tiles could be
    shared."""

    @T.jit(out_idx=[-1], **options)
    def kernel(blocks):
        @T.prim_func
        def text(
            X: T.Tensor((blocks, 4, 256), "float32"), Y: T.Tensor((blocks, 4, 256), "float32")
        ):
            with T.Kernel(blocks, threads=128) as cid:
                x = T.alloc_shared((4, 64), "float32")
                part = T.alloc_shared((4,), "float32")
                rows = T.alloc_shared((4,), "float32")
                whole = T.alloc_shared((1,), "float32")
                T.clear(rows)
                for k in T.serial(4):
                    T.copy(X[cid, 0, k * 64], x)
                    T.reduce_sum(x, part, dim=1)
                    for i in T.Parallel(4):
                        rows[i] += part[i]
                T.reduce_sum(rows, whole, dim=0)
                for k in T.serial(4):
                    T.copy(X[cid, 0, k * 64], x)
                    for i, j in T.Parallel(4, 64):
                        x[i, j] = x[i, j] - whole[0]
                    T.copy(x, Y[cid, 0, k * 64])

        return text

    return kernel(blocks)


def scaled(blocks: int, columns: int = 96, **options: Any) -> Any:
    """A row of which lanes share only the last statement."""

    @T.jit(out_idx=[-1], **options)
    def kernel(blocks, columns):
        @T.prim_func
        def text(
            X: T.Tensor((blocks, columns), "float32"), Y: T.Tensor((blocks, columns), "float32")
        ):
            with T.Kernel(blocks, threads=128) as cid:
                x = T.alloc_shared((columns,), "float32")
                y = T.alloc_fragment((columns,), "float32")
                z = T.alloc_shared((columns,), "float32")
                most = T.alloc_fragment((1,), "float32")
                T.copy(X[cid, 0], x)
                for j in T.Parallel(columns):
                    y[j] = x[j] * x[j] + x[j]
                T.reduce_max(y, most, dim=0)
                for j in T.Parallel(columns):
                    z[j] = y[j] - most[0]
                T.copy(z, Y[cid, 0])

        return text

    return kernel(blocks, columns)


def scaled_of(x: torch.Tensor) -> torch.Tensor:
    y = x * x + x
    return y - y.amax(-1, keepdim=True)


def totals_of(x: torch.Tensor) -> torch.Tensor:
    return x - x.sum(dim=(1, 2), keepdim=True)


def bounds_of(x: torch.Tensor) -> torch.Tensor:
    low, high = torch.zeros(x.shape[:2]), torch.ones(x.shape[:2])
    for _ in range(6):
        middle = (low + high) * 0.5
        enough = (x >= middle[..., None]).sum(-1) >= 16
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return torch.where(x >= low[..., None], x, 0.0)


@pytest.mark.parametrize("blocks", GRIDS)
@pytest.mark.parametrize(
    "make, shape, expected",
    [
        (total, (4, 64), totals_of),
        (bisected, (2, 64), bounds_of),
        (normed, (4, 256), totals_of),
        (scaled, (96,), scaled_of),
    ],
    ids=["total", "bisected", "normed", "scaled"],
)
def test_each_lane_runs_blocks(make: Any, shape: Any, expected: Any, blocks: int) -> None:
    torch.manual_seed(blocks)
    x = torch.randint(0, 9, (blocks, *shape)) / 8
    with override(check="strict"):
        found = make(blocks)(x)
        alone = make(blocks, pass_configs=OFF)(x)
    assert torch.equal(found, expected(x))
    assert torch.equal(found, alone)


def test_lanes_have_blocks_only_where_cores_have_several() -> None:
    assert "each vector core runs" in _explained(25)
    assert "one vector core works" in _explained(24)


def test_lanes_have_blocks_rather_than_the_same_work() -> None:
    assert "each vector core runs" in _explained(48, normed)
    assert "each vector core runs" not in _explained(24, normed)


def test_lanes_have_blocks_where_they_share_little_and_have_room() -> None:
    assert "each vector core runs" in _explained(48, partial(scaled, columns=6144))
    assert "each vector core runs" not in _explained(48, partial(scaled, columns=16384))


def _explained(blocks: int, make: Any = total) -> str:
    from tile_passes.explain.lanes import explain_lanes
    from tile_passes.pipeline import PASSES, taken_to

    kernel = make(blocks)
    func = taken_to(kernel.func, PASSES["split_vector_lanes"], kernel.target)
    return explain_lanes(func, kernel.target)
