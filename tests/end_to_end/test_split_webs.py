"""Kernels that keep several values in one tile, one after the other, in loops that overlap: equal to
torch at strict, for cut tiles, for loops that run never and once, and for every type."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
TYPES = ("float16", "bfloat16", "float32")
ROWS, COLUMNS = 8, 128


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def scaled_sum(dtype: str, threads: int) -> T.PrimFunc:
    """One tile for two loads and the store, one vector for two sums of rows."""
    M = T.symbolic("M")

    @T.prim_func
    def kernel(
        X: T.Tensor((M, COLUMNS), dtype),
        Z: T.Tensor((M, COLUMNS), dtype),
        Y: T.Tensor((M, COLUMNS), dtype),
    ) -> None:
        with T.Kernel(2, threads=threads, is_npu=True) as cid:
            tile = T.alloc_shared((ROWS, COLUMNS), dtype)
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            z = T.alloc_shared((ROWS, COLUMNS), "float32")
            total = T.alloc_shared((ROWS,), "float32")
            for t in T.Pipelined(T.ceildiv(T.ceildiv(M, ROWS) - cid, 2), num_stages=2):
                row = (cid + t * 2) * ROWS
                T.copy(X[row, 0], tile)
                T.copy(tile, x)
                T.copy(Z[row, 0], tile)
                T.copy(tile, z)
                T.reduce_sum(x, total, dim=-1)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    x[i, j] = x[i, j] + total[i] * z[i, j]
                T.reduce_max(z, total, dim=-1)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    x[i, j] = x[i, j] * total[i]
                T.copy(x, tile)
                T.copy(tile, Y[row, 0])

    return kernel


def _expected(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    x, z = x.double(), z.double()
    found = x + x.sum(-1, keepdim=True) * z
    return found * z.max(-1, keepdim=True).values


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", TYPES)
def test_values_of_one_tile(dtype: str, threads: int) -> None:
    torch.manual_seed(0)
    kernel = scaled_sum(dtype, threads)
    assert "tile_1" in kernel.get_kernel_source()
    # Tiles of both blocks: none and one, one each, several of which the last is cut.
    for rows in (1, 8, 16, 75):
        x, z = (torch.randn(rows, COLUMNS).to(getattr(torch, dtype)) for _ in range(2))
        with override(check="strict"):
            found = kernel(x, z)
        close = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-4}[dtype]
        torch.testing.assert_close(found.double(), _expected(x, z), atol=close, rtol=close)


@T.jit(pass_configs=AUTOMATIC)
def running(trips: int) -> T.PrimFunc:
    """The tile is loaded in every iteration but keeps its second half from the first one on."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 2, 64), "float32"), Y: T.Tensor((8, 2, 64), "float32")) -> None:
        with T.Kernel(1, threads=1, is_npu=True):
            tile = T.alloc_shared((2, 64), "float32")
            other = T.alloc_shared((2, 64), "float32")
            T.tile.fill(tile, 1.0)
            T.tile.fill(other, 0.0)
            for t in T.Pipelined(trips, num_stages=2):
                T.copy(X[t, 0:1, :], tile[0:1, :])
                for i, j in T.Parallel(2, 64):
                    other[i, j] = other[i, j] + tile[i, j]
                T.copy(other, Y[t, :, :])
                if t == 1:
                    T.copy(X[t, :, :], tile)
            T.copy(tile, Y[7, :, :])

    return kernel


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_values_that_iterations_hand_on(trips: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 2, 64)
    tile, other = torch.ones(2, 64), torch.zeros(2, 64)
    want = torch.zeros(8, 2, 64)
    for t in range(trips):
        tile[0] = x[t, 0]
        other = other + tile
        want[t] = other
        if t == 1:
            tile = x[t].clone()
    want[7] = tile
    found = torch.zeros(8, 2, 64)
    with override(check="strict"):
        running(trips)(x, found)
    assert torch.equal(found, want)
