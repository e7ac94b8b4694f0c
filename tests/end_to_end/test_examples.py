"""The examples, run as a user runs them, and interpreted phase by phase at small sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import example_kernels
import numpy as np
import pytest

from tile_ir import DEFAULT_TARGET, Func, Phase
from tile_passes import PIPELINE, run_passes

from .kernel_batch import KernelBatch, interpreted

SCRIPTS = sorted(example_kernels.EXAMPLES.glob("0*.py"))
PACKAGES = Path(__file__).parents[2] / "packages"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_script_matches_torch(script: Path, tmp_path: Path) -> None:
    paths = [str(p) for p in PACKAGES.glob("*/src")]
    environment = {
        **os.environ,
        "TILE_CACHE_DIR": os.environ.get("TILE_CACHE_DIR", ""),
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    environment = {k: v for k, v in environment.items() if k != "TILE_CACHE_DIR" or v}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # A line of figures, then the verdict, for every kernel of the script.
    lines = done.stdout.splitlines()
    assert lines and len(lines) % 2 == 0
    for figures, verdict in zip(lines[::2], lines[1::2], strict=True):
        assert verdict == "Kernel Output Match!"
        assert "max error" in figures and "compile" in figures and "run" in figures


def small_kernels() -> dict[str, tuple[Func, list[Any], int]]:
    """Small sizes of every example: the kernel, its arguments, the index of the output."""
    rng = np.random.default_rng(0)
    load = example_kernels.load

    def half(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    add = load("01_vector_add").vector_add.__wrapped__(40, 64, 64)
    gemm = load("02_gemm").gemm.__wrapped__(70, 50, 100, 32, 48, 64)
    intrinsic = load("03_gemm_intrinsic").gemm_intrinsic.__wrapped__(96, 64, 128, 32, 32, 64, 32, 3)
    softmax = load("04_online_softmax").online_softmax.__wrapped__(34, 130, 16, 64, "float32")
    attention = load("05_flash_attention").flash_attention.__wrapped__(1, 2, 64, 64, 32, 32)
    x = rng.standard_normal((40, 64)).astype(np.float32)
    s = rng.standard_normal((34, 130)).astype(np.float32)
    q, k, v = half(1, 2, 64, 64), half(1, 2, 64, 64), half(1, 2, 64, 64)
    work = [np.zeros((4, 32, 32), np.float32), np.zeros((4, 32, 32), np.float16)]
    return {
        "vector_add": (add, [x, x[::-1].copy(), np.zeros_like(x)], 2),
        "gemm": (gemm, [half(70, 100), half(100, 50), np.zeros((70, 50), np.float16)], 2),
        "gemm_intrinsic": (
            intrinsic, [half(96, 128), half(128, 64), np.zeros((96, 64), np.float16)], 2
        ),
        "softmax": (softmax, [s, np.zeros_like(s)], 1),
        "attention": (
            attention, [q, k, v, np.zeros_like(q), *work, np.zeros((4, 32, 64), np.float32)], 3
        ),
    }  # fmt: skip


KERNELS = small_kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_every_phase_means_the_same(name: str, tmp_path: Path) -> None:
    """Interpreted as traced, after every pass before planning, and simulated: one result."""
    func, arguments, output = KERNELS[name]
    want = interpreted(func, arguments)[output].astype(np.float64)
    # Outputs in half are off by a rounding of values around one.
    near = {"rtol": 2e-3, "atol": 1e-3 if arguments[output].dtype == np.float16 else 1e-6}
    assert np.isfinite(want).all()
    for p in PIPELINE:
        func = run_passes(func, [p], DEFAULT_TARGET).func
        if func.phase <= Phase.PIPELINED:
            got = interpreted(func, arguments)[output].astype(np.float64)
            np.testing.assert_allclose(got, want, **near, err_msg=p.name)
    batch = KernelBatch(tmp_path)
    number = batch.add(KERNELS[name][0])
    batch.build()
    outcome = batch.run(number, arguments)
    assert outcome.error is None, outcome.error.text
    got = outcome.arrays[output].astype(np.float64)
    np.testing.assert_allclose(got, want, **near)
