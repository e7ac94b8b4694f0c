"""Proposed tiles are faster than those one would write without thinking, by the time model."""

from __future__ import annotations

from pathlib import Path

import pytest

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.scripts.module import load_script

SCRIPT = Path(__file__).parents[2] / "examples" / "developer" / "gemm.py"


def modelled(sizes: tuple[int, int, int], tiles: tuple[int, int, int]) -> float:
    with override(soc="Ascend910B2", time=True, check="off"):
        kernel = load_script(SCRIPT).gemm(*sizes, *tiles)
        kernel(*supply_tensors(kernel, TensorSupplyType.Zero))
    return float(kernel.timeline().microseconds)


@pytest.mark.parametrize("sizes", [(1024, 1024, 1024), (256, 256, 8192), (1000, 1000, 1000)])
def test_proposals_beat_naive_tiles(sizes: tuple[int, int, int]) -> None:
    assert modelled(sizes, T.recommend_tiles(*sizes)) < 0.95 * modelled(sizes, (128, 128, 64))
