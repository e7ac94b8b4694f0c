"""The examples, run as a user runs them, and interpreted phase by phase at small sizes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import example_kernels
import numpy as np
import pytest
from forked_python import run_python

from tile_ir import DEFAULT_TARGET, Automatic, Func, Phase
from tile_passes import PIPELINE, run_passes
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted

PACKAGES = Path(__file__).parents[2] / "packages"
# Its kernel runs 20 s; that of 05_flash_attention has the same operations.
SLOW = ("13_long_attention",)


@pytest.mark.parametrize(
    "script", [example_kernels.script_case(p, SLOW) for p in example_kernels.SCRIPTS]
)
def test_script_matches_torch(script: Path, tmp_path: Path) -> None:
    paths = [str(p) for p in PACKAGES.glob("*/src")]
    environment = {
        **os.environ,
        "TILE_CACHE_DIR": os.environ.get("TILE_CACHE_DIR", ""),
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    environment = {k: v for k, v in environment.items() if k != "TILE_CACHE_DIR" or v}
    done = run_python([str(script)], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    # A line of figures, then the verdict, for every kernel of the script.
    lines = done.stdout.splitlines()
    assert lines and len(lines) % 2 == 0
    for figures, verdict in zip(lines[::2], lines[1::2], strict=True):
        assert verdict == "Kernel Output Match!"
        assert "max error" in figures and "compile" in figures and "run" in figures


@dataclass(frozen=True)
class SmallKernel:
    """A kernel, its arguments, the index of the output, what it leaves to the compiler."""

    func: Func
    arguments: list[Any]
    output: int
    automatic: tuple[Automatic, ...] = ()


def small_kernels() -> dict[str, SmallKernel]:
    """Small sizes of every example; those with flags of their own also without them."""
    by_hand = kernels_with_flags()
    without = {
        f"{name}_without_flags": SmallKernel(
            example_kernels.unsynchronised(k.func), k.arguments, k.output,
            example_kernels.AUTOMATIC_SYNC,
        )
        for name, k in by_hand.items()
    }  # fmt: skip
    return {**by_hand, **without, **automatic_kernels()}


def automatic_kernels() -> dict[str, SmallKernel]:
    """The examples without flags, at sizes with tails and several rounds for every core."""
    rng = np.random.default_rng(1)
    load = example_kernels.load

    def made(func: Func, output: int, *arguments: Any) -> SmallKernel:
        return SmallKernel(func, list(arguments), output, example_kernels.AUTOMATIC_SYNC)

    def half(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    def single(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    def whole(*shape: int) -> Any:
        # Their products add up to the same, whatever the order of the cores.
        return rng.integers(-3, 4, shape).astype(np.float16)

    def below(limit: int, count: int) -> Any:
        return rng.integers(0, limit, count).astype(np.int32)

    rms_norm = load("06_rms_norm").rms_norm.__wrapped__(37, 100, 4, 2)
    gelu_mul = load("07_gelu_mul").gelu_mul.__wrapped__(37, 90, 8, 32, 2)
    rope = load("08_rope").rope.__wrapped__(27, 3, 32, 40, 8, 1)
    entropy = load("09_cross_entropy").cross_entropy.__wrapped__(37, 100, 16, 32, 1)
    ragged = load("10_gemm_ragged").gemm_ragged.__wrapped__(45, 51, 85, 16, 32, 64, 16, 2)
    split = load("11_split_k_gemm").split_k_gemm.__wrapped__(20, 40, 210, 16, 32, 32, 4)
    top_k = load("12_top_k").top_k.__wrapped__(9, 50, 8, 32, 2)
    return {
        "rms_norm": made(rms_norm, 2, half(37, 100), half(1, 100), np.zeros((37, 100), np.float16)),
        "gelu_mul": made(gelu_mul, 1, half(37, 180), np.zeros((37, 90), np.float16)),
        "rope": made(
            rope, 4, half(81, 32), below(40, 27), single(40, 16), single(40, 16),
            np.zeros((81, 32), np.float16),
        ),
        "cross_entropy": made(
            entropy, 2, half(37, 100), below(100, 37), np.zeros(37, np.float32)
        ),
        "gemm_ragged": made(ragged, 2, half(45, 85), half(85, 51), np.zeros((45, 51), np.float16)),
        "split_k_gemm": made(
            split, 2, whole(20, 210), whole(40, 210), np.zeros((20, 40), np.float32)
        ),
        "top_k": made(top_k, 2, single(9, 50), single(50, 32), np.zeros((9, 32), np.float32)),
    }  # fmt: skip


def kernels_with_flags() -> dict[str, SmallKernel]:
    """The examples whose flags stand in the source."""
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
    work = [np.zeros((4, 3, 32, 32), np.float32), np.zeros((4, 3, 32, 32), np.float16)]
    return {
        "vector_add": SmallKernel(add, [x, x[::-1].copy(), np.zeros_like(x)], 2),
        "gemm": SmallKernel(
            gemm, [half(70, 100), half(100, 50), np.zeros((70, 50), np.float16)], 2
        ),
        "gemm_intrinsic": SmallKernel(
            intrinsic, [half(96, 128), half(128, 64), np.zeros((96, 64), np.float16)], 2
        ),
        "softmax": SmallKernel(softmax, [s, np.zeros_like(s)], 1),
        "attention": SmallKernel(
            attention, [q, k, v, np.zeros_like(q), *work, np.zeros((4, 3, 32, 64), np.float32)], 3
        ),
    }  # fmt: skip


KERNELS = small_kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_every_phase_means_the_same(name: str, tmp_path: Path) -> None:
    """Interpreted as traced, after every pass before planning, and simulated: one result."""
    kernel = KERNELS[name]
    func = replace(kernel.func, automatic=frozenset(kernel.automatic))
    arguments, output = kernel.arguments, kernel.output
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
    number = batch.add(kernel.func, kernel.automatic)
    batch.build()
    outcome = batch.run(number, arguments, checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    got = outcome.arrays[output].astype(np.float64)
    np.testing.assert_allclose(got, want, **near)
