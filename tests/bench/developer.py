"""Rows about kernels in developer style: what they take to lower, and their modelled time beside
that of the expert example of the same operation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.handover_kernel import handover_kernel
from bench.order_quality import body_microseconds
from bench.row import RUNS, Examples, Row, exactly, summary
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import run_pipeline
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.launcher.run_watchers import record_calls
from tile_runtime.options.code_generators import code_generator
from tile_runtime.options.pass_configs import PassConfigKey, pass_options
from tile_runtime.scripts.module import load_script

# Script, factory and arguments in developer style; script, factory and arguments of the expert.
Made = tuple[str, str, tuple[Any, ...]]
PAIRS: dict[str, tuple[Made, Made, float | None]] = {
    "gemm 1024": (
        ("gemm", "gemm", (1024, 1024, 1024, 128, 256, 64)),
        ("02_gemm", "gemm", (1024, 1024, 1024, 128, 256, 64)),
        None,
    ),
    "softmax 1024x4096 float16": (
        ("softmax", "softmax", (1024, 4096, 8, "float16")),
        ("04_online_softmax", "online_softmax", (1024, 4096, 3, 4096, "float16")),
        None,
    ),
    "rms norm 8192x1024": (
        ("rms_norm", "rms_norm", (8192, 1024, 16)),
        ("06_rms_norm", "rms_norm", (8192, 1024, 8, 24)),
        None,
    ),
    "cross entropy 512x4096": (
        ("cross_entropy", "cross_entropy", (512, 4096, 8)),
        ("09_cross_entropy", "cross_entropy", (512, 4096, 16, 512, 16, "float32")),
        None,
    ),
    "flash attention 1x16x4096x128": (
        ("flash_attention", "flash_attention", (1, 16, 4096, 128, 64, 128)),
        ("05_flash_attention", "flash_attention", (1, 16, 4096, 128, 64, 128)),
        1.0,
    ),
}
# What every script makes for measuring how long lowering takes.
LOWERED: tuple[Made, ...] = (
    *(developer for developer, _, _ in PAIRS.values()),
    ("gemm_epilogue", "gemm_bias_relu", (517, 389, 611, 128, 128, 64)),
    ("dequantised_gemm", "int8_gemm", (256, 512, 1024, 128, 128, 128)),
    ("layer_norm_add", "layer_norm_add", (512, 768, 16)),
    ("rope", "rope", (128, 8, 128)),
)


def developer_times(examples: Examples) -> list[Row]:
    """Modelled times in developer style, and against the expert's; at most the expert's for flash
    attention, which has its barriers by hand."""
    rows = []
    for name, (developer, expert, limit) in PAIRS.items():
        ours = _modelled(examples.folder / "developer", developer)
        theirs = _modelled(examples.folder, expert)
        rows.append(exactly(f"{name}: developer", ours, "us"))
        rows.append(exactly(f"{name}: expert", theirs, "us"))
        rows.append(exactly(f"{name}: developer against expert", ours / theirs, "times", limit))
    return rows


def developer_lowering(examples: Examples) -> list[Row]:
    """Time of the processor to lower each developer example, warm, and a kernel of 200
    handovers."""
    rows, medians = [], []
    for script, factory, arguments in LOWERED:
        make = getattr(load_script(examples.folder / "developer" / f"{script}.py"), factory)
        seconds = _seconds(_fresh(make, arguments))
        medians.append(statistics.median(seconds))
        limit = 0.12 if script == "flash_attention" else None
        rows.append(summary(f"lower {script} in developer style", seconds, "s", limit))
    rows.append(summary("lower an example in developer style, median of all", medians, "s", 0.045))
    many = _seconds(lambda: handover_kernel(200))
    rows.append(summary("lower a kernel with 200 handovers", many, "s", 0.5))
    return rows


def lower_and_emit(examples: Examples) -> list[Row]:
    """Time of the processor from a traced kernel to its source, warm: the geometric mean of the
    developer examples."""
    options = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
    generator = code_generator()
    rounds: list[list[float]] = [[] for _ in range(RUNS + 1)]
    for script, factory, arguments in LOWERED:
        make = getattr(load_script(examples.folder / "developer" / f"{script}.py"), factory)
        for taken in rounds:
            func = make.__wrapped__(*arguments)
            start = time.process_time()
            lowered = run_pipeline(func, DEFAULT_TARGET, options).func
            generator.emit(lowered, DEFAULT_TARGET)
            taken.append(time.process_time() - start)
    means = [statistics.geometric_mean(taken) for taken in rounds[1:]]
    name = "lower and emit an example in developer style, geometric mean of all"
    return [summary(name, means, "ms", 45)]


def _fresh(make: Any, arguments: tuple[Any, ...]) -> Callable[[], Func]:
    return lambda: make.__wrapped__(*arguments)


def _seconds(fresh: Callable[[], Func]) -> list[float]:
    """Seconds of the processor for the pipeline, after one run that does not count."""
    options = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
    found = []
    for _ in range(RUNS + 1):
        func = fresh()
        start = time.process_time()
        run_pipeline(func, DEFAULT_TARGET, options)
        found.append(time.process_time() - start)
    return found[1:]


def _modelled(folder: Path, made: Made) -> float:
    script, factory, arguments = made
    kernel = getattr(load_script(folder / f"{script}.py"), factory)(*arguments)
    calls: list[Any] = []

    def keep(_: JITKernel, call: Any, inputs: tuple[Any, ...]) -> None:
        calls.append(call)

    # A recorded call has the addresses of its inputs, and does not keep them.
    inputs = supply_tensors(kernel, TensorSupplyType.Zero)
    with record_calls(keep):
        kernel(*inputs)
    return body_microseconds(kernel, calls[0])


__all__ = ["developer_lowering", "developer_times", "lower_and_emit"]
