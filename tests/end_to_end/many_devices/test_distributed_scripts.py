"""The scripts of many devices, run as a user runs them, at `strict`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from example_kernels import script_case
from forked_python import run_python

from .rank_cases import FOLDER

PACKAGES = Path(__file__).parents[3] / "packages"


# The kernels of the others are small in the other tests.
SLOW = (
    "ag_gemm", "collectives", "gemm_ar", "gemm_rs", "moe", "ring_attention",
    "tensor_parallel_decoder",
)  # fmt: skip


@pytest.mark.parametrize("script", [script_case(p, SLOW) for p in sorted(FOLDER.glob("*.py"))])
def test_a_script_matches_torch_at_strict(script: Path) -> None:
    paths = [str(p) for p in PACKAGES.glob("*/src")]
    environment = {
        **os.environ,
        "TILE_CHECK": "strict",
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    done = run_python([str(script)], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines and all(line.endswith(": match") for line in lines), done.stdout
    assert not done.stderr, done.stderr
