"""A script that catches nothing shows its own lines and the diagnostic, and fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_python import run_python

SCRIPT = """import torch
import tile_frontend as T


@T.jit(out_idx=[-1])
def factory(n, size):
    @T.prim_func
    def k(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            u = T.alloc_ub((size,), "float32")
            with T.Scope("V"):
                T.copy(A[0:16], u[0:16])

    return k


LAST
"""


@pytest.mark.parametrize(
    ("last", "column", "slug"),
    [
        ("factory(16, 100000)", 17, "memory-overflow"),
        ("factory(16, 16)(torch.zeros(16).half())", 0, "call-dtype"),
        ("factory(16, 8)", 35, "index-range"),
    ],
)
def test_script(last: str, column: int, slug: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("LAST", last))
    packages = [str(p) for p in Path(__file__).parents[2].glob("packages/*/src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    for name in ("TILE_DEBUG", "TILE_CACHE_DIR"):
        environment.pop(name, None)
    done = run_python(["script.py"], tmp_path, environment)
    assert done.returncode == 1 and not done.stdout
    assert f"error[{slug}]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "site-packages" not in done.stderr
    assert "tile_runtime" not in done.stderr and "tile_frontend/" not in done.stderr
    assert f"line {len(SCRIPT.splitlines())}, in <module>" in done.stderr
    if column:
        assert f":{column}: error[" in done.stderr
    if slug != "call-dtype":  # one of them is enough: importing torch takes seconds
        return
    environment["TILE_DEBUG"] = "1"
    full = run_python(["script.py"], tmp_path, environment)
    assert "Traceback" in full.stderr
