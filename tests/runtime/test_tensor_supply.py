"""Inputs that are made for kernels: what they must tell apart."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime.jit_kernels.profiler import assert_mostly_close
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors


@T.jit(out_idx=[-1])
def rows(M, N):
    @T.prim_func
    def kernel(X: T.Tensor((2, M, N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(M, threads=2) as cid:
            x = T.alloc_shared((1, N), "float16")
            T.copy(X[0, cid, 0], x)
            T.copy(x, Y[cid, 0])

    return kernel


def test_other_groups_of_rows_give_other_results() -> None:
    """Half as many groups are another norm, not another tile: no advice may take them."""
    (x,) = supply_tensors(rows(64, 512))

    def normed(groups: int) -> torch.Tensor:
        return torch.nn.functional.group_norm(x.float(), groups)

    with pytest.raises(AssertionError):
        assert_mostly_close(normed(4), normed(8), 2e-2, 2e-2, 1e-3)
    (plain,) = supply_tensors(rows(64, 512), TensorSupplyType.Normal)
    assert 0.9 < plain.float().std(-1).min() < plain.float().std(-1).max() < 1.2
