"""The scripts of many devices, run as a user runs them, at `strict`."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_kernels import lines_at_strict, script_case

from .rank_cases import FOLDER

# The kernels of the others are small in the other tests.
SLOW = (
    "ag_gemm", "collectives", "gemm_ar", "gemm_rs", "mesh_products", "moe", "ring_attention",
    "tensor_parallel_decoder",
)  # fmt: skip


@pytest.mark.parametrize("script", [script_case(p, SLOW) for p in sorted(FOLDER.glob("*.py"))])
def test_a_script_matches_torch_at_strict(script: Path) -> None:
    lines = lines_at_strict(script)
    assert lines and all(line.endswith(": match") for line in lines), lines
