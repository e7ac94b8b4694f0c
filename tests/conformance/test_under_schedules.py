"""What a script's kernels leave to chance is found in some order of the cores; nothing else is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from forked_python import run_python

SCRIPT = """
import tilelang
import torch
from tilelang import language as T

@tilelang.jit(out_idx=[1])
def sums(both):
    @T.prim_func
    def main(A: T.Tensor((2, 64), "float32"), B: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((1, 64), "float32")
            with T.Scope("V"):
                T.copy(A[vid, 0], tile)
                T.barrier_all()
                T.copy(tile, B[vid, 0])
                if both:
                    T.barrier_all()
                    T.copy(B[1 - vid, 0], tile)
    return main

A = torch.randn(2, 64)
torch.testing.assert_close(sums({both})(A), A)
print("Kernel Output Match!")
"""


@pytest.mark.parametrize("both", [False, True])
def test_orders_that_a_script_leaves_open(both: bool, tmp_path: Path) -> None:
    """In the first order the second core comes last, which is as its author meant it."""
    script = tmp_path / "sums.py"
    script.write_text(SCRIPT.replace("{both}", str(both)))
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = run_python(
        ["-m", "conformance.under_schedules", "4", "100", str(script)],
        env={**os.environ, "PYTHONPATH": path, "TILE_CHECK": "off"},
    )
    assert "Kernel Output Match!\n" in done.stdout, done.stdout + done.stderr
    assert done.returncode == both, done.stdout
    assert ("error[race]: " in done.stdout) == both
    last = done.stdout.splitlines()[-1]
    assert last.startswith("1 kernel in 4 of 4 orders at device and strict: ")
    assert last.endswith(": 0 findings") != both
