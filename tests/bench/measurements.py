"""Measurements of this compiler on this machine: one function a row, medians of repeated runs.

Rows that need a kernel take it from the examples, whose factories are decorated with `T.jit`.
"""

from __future__ import annotations

import functools
import itertools
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.advice import ADVICE
from bench.change import CHANGE
from bench.developer import developer_lowering, developer_times, lower_and_emit
from bench.fresh_process import first_kernel, import_frontend
from bench.fused import FUSED
from bench.judge import JUDGE
from bench.launch_path import call_overhead, cold_start
from bench.newcomers import NEWCOMERS
from bench.order import memory_peaks, order_of_slots, order_quality, order_scale
from bench.puzzles import PUZZLES
from bench.row import (
    RUNS,
    Examples,
    Measurement,
    Row,
    empty_cache,
    repeat,
    summary,
)  # fmt: skip
from bench.row_loops import row_loops
from bench.schedules import LONG_SCHEDULES, SCHEDULES
from bench.tuning import TUNING
from tile_ir import DEFAULT_TARGET, KernelError, did_you_mean, parse
from tile_ir.switches import override
from tile_passes.plan_memory import plan_memory
from tile_runtime.jit_kernels.build import Timings
from tile_runtime.jit_kernels.jit_compile import compile
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.scripts.module import load_script


def first_run(examples: Examples) -> list[Row]:
    """On a machine where nothing is built: from the start of Python to the line that says what is
    built, and the whole of `tile-ascend doctor`."""
    example = str(examples.folder / "01_vector_add.py")
    run = "from tile_runtime.tools.command_line import main; main([%r, *%r])"
    commands = {
        "python example.py": [sys.executable, example],
        "tile-ascend run example.py": [sys.executable, "-c", run % ("run", [example])],
    }
    doctor = [sys.executable, "-c", run % ("doctor", [])]
    rows = [
        summary(f"{name}: first line, nothing built", _repeat_unbuilt(command, 1), "s", 2)
        for name, command in commands.items()
    ]
    return [*rows, summary("tile-ascend doctor, nothing built", _repeat_unbuilt(doctor), "s", 3)]


def _repeat_unbuilt(command: Sequence[str], lines: int | None = None) -> list[float]:
    """Seconds until a command has said so many lines on standard error, or until it ends; its
    C++ compiler makes nothing."""
    seconds = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            compiler = Path(folder, "c++")
            compiler.write_text("#!/bin/sh\n[ $1 = --version ] && echo 1\n")
            compiler.chmod(0o755)
            environment = {**os.environ, "TILE_CACHE_DIR": folder, "TILE_CXX": str(compiler)}
            start = time.perf_counter()
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            assert process.stderr is not None, "a pipe was asked for"
            said = list(itertools.islice(process.stderr, lines))
            seconds.append(time.perf_counter() - start)
            process.communicate()
            assert len(said) >= (lines or 0), f"{command} says nothing about what it builds"
    return seconds


def cold_compile(examples: Examples) -> list[Row]:
    """Every step of building each example's kernels with an empty cache."""
    rows = []
    for name, kernel in examples.kernels():
        built = [_build_anew(kernel) for _ in range(RUNS)]
        retrace = kernel.retrace
        if retrace is not None:
            traced = repeat(retrace)
            front = [t + b.lower + b.emit for t, b in zip(traced, built, strict=True)]
            rows.append(summary(f"{name}: trace, lower, emit", front, "ms", 120))
        rows.append(summary(f"{name}: host compiler", [t.compile for t in built], "ms", 2500))
    return rows


def simulated_speed(examples: Examples) -> list[Row]:
    """How fast the simulator runs whole kernels, and what checks and timing add to that."""
    gemm = load_script(examples.folder / "02_gemm.py").gemm(1024, 1024, 1024, 128, 256, 64)
    softmax = load_script(examples.folder / "04_online_softmax.py").online_softmax
    torch.manual_seed(0)
    a, b = torch.randn(1024, 1024).half(), torch.randn(1024, 1024).half()
    x = torch.randn(1024, 4096)
    rows_of_softmax = softmax(1024, 4096, 16, 512, "float32")
    gemm_modes = _by_mode(lambda: gemm(a, b))
    speeds = [2 * 1024**3 / s / 1e9 for s in gemm_modes["off"]]
    rows = [
        Row(
            "simulated gemm 1024^3 float16, checks off",
            statistics.median(speeds), min(speeds), max(speeds), "GFLOP/s", len(speeds), 25, True,
        )
    ]  # fmt: skip
    softmax_modes = _by_mode(lambda: rows_of_softmax(x))
    for check in ("off", "device"):
        name = f"simulated softmax 1024x4096 float32, checks {check}"
        rows.append(summary(name, softmax_modes[check], "ms", 100))
    for name, modes, checks, timing in (
        ("gemm 1024^3", gemm_modes, 1.5, 3.0),
        ("softmax 1024x4096", softmax_modes, 6.0, 3.0),
    ):
        for mode, limit in (("device", checks), ("strict", checks), ("timing", timing)):
            ratios = [s / o for s, o in zip(modes[mode], modes["off"], strict=True)]
            median = statistics.median(modes[mode]) / statistics.median(modes["off"])
            rows.append(
                Row(
                    f"simulated {name}, {mode} against checks off",
                    median, min(ratios), max(ratios), "times", len(ratios), limit,
                )
            )  # fmt: skip
    plain = repeat(lambda: a.float() @ b.float(), 2 * RUNS)
    rows.append(summary("torch float32 matmul 1024^3, for comparison", plain, "ms"))
    return rows


_MODES: dict[str, dict[str, Any]] = {
    "off": {"check": "off"},
    "device": {"check": "device"},
    "strict": {"check": "strict"},
    "timing": {"check": "off", "time": True},
}


def _by_mode(run: Callable[[], object]) -> dict[str, list[float]]:
    """Seconds of runs in every mode, taken in turns so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {mode: [] for mode in _MODES}
    for turn in range(2 * RUNS + 1):
        for mode, switches in _MODES.items():
            with override(**switches):
                taken = repeat(run, 1)
            if turn:  # the first run of each mode prepares what the others find ready
                seconds[mode] += taken
    return seconds


_MILLION = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void million(GM_ADDR x)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 8192);
    AscendC::LocalTensor<float> a = buffer.Get<float>();
    AscendC::Duplicate(a, 0.0f, 2048);
    for (int32_t i = 0; i < 500000; ++i) {
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(a[i % 16 * 64], a[(i + 5) % 16 * 64], 1.0f, 64);
    }
}
"""


def simulated_million(examples: Examples) -> list[Row]:
    """A kernel of a million instructions, checked and timed: memory of the process it runs in."""
    code = (
        "import resource, sys, time, numpy, tile_runtime\n"
        "start = time.perf_counter()\n"
        "tile_runtime.simulate(sys.argv[1], 'million', 1, [numpy.zeros(8, 'f4')], check='strict',"
        " time=True).raise_for_error()\n"
        "print(time.perf_counter() - start)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2)"
    )
    command = [sys.executable, "-c", code, _MILLION]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    seconds = [float(taken) for taken, _ in runs]
    memory = sorted(float(used) for _, used in runs)
    name = "a million instructions, strict and timed"
    return [
        summary(name, seconds, "s"),
        Row(f"{name}: memory", memory[1], memory[0], memory[2], "GiB", len(memory), 2),
    ]


def cached_reload(examples: Examples) -> list[Row]:
    """From a traced function to a kernel that can be called, everything on disk."""
    rows = []
    for name, kernel in examples.kernels():
        with empty_cache():
            compile(kernel.prim_func)
            seconds = repeat(functools.partial(compile, kernel.prim_func), 4 * RUNS)
        rows.append(summary(f"{name}: cached reload", seconds, "ms", 10))
    return rows


def planned_memory(examples: Examples) -> list[Row]:
    """The pass `plan_memory` on straight-line kernels whose buffers do not fit side by side; also
    where nothing is ordered yet but by their author, so that bytes should not be shared."""
    rows = []
    for operations, automatic, limit in (
        (2000, "memory sync", 100), (4000, "memory sync", None), (500, "memory", 1000),
    ):  # fmt: skip
        func = parse(_straight_line(operations, operations // 4, automatic))
        seconds = repeat(functools.partial(plan_memory.run, func, DEFAULT_TARGET), 2 * RUNS)
        by_hand = "" if "sync" in automatic else ", ordered by hand"
        name = f"plan_memory, {operations} operations, {operations // 4} buffers{by_hand}"
        rows.append(summary(name, seconds, "ms", limit))
    return rows


def _straight_line(operations: int, buffers: int, automatic: str) -> str:
    """Vector operations on buffers of 6 KB, each needed until a few later ones are full."""
    lines = []
    for k in range(operations):
        new = k * buffers // operations
        old = [max(0, new - k * 7 % 12), max(0, new - k * 5 % 12)]
        started = k > 0 and (k - 1) * buffers // operations == new
        what = f"add($b{new}, $b{old[0]}, $b{old[1]})" if started else f"fill($b{new}, 0.0)"
        lines.append(f"      {what} @0:{k + 1}:1\n")
    allocs = "".join(f"    alloc $b{i}: ub float32 [1536] @0:1:1\n" for i in range(buffers))
    return (
        f'file 0 "line.py"\nfunc "line" phase split automatic {automatic} @0:1:1 {{\n'
        f"  launch blocks(1) %cid %vid threads any @0:1:1 {{\n{allocs}"
        f"    section vector @0:1:1 {{\n{''.join(lines)}    }}\n  }}\n}}\n"
    )


ROWS: dict[str, Measurement] = {
    row.__name__: row
    for row in (
        import_frontend,
        first_kernel,
        cold_start,
        first_run,
        cold_compile,
        cached_reload,
        call_overhead,
        planned_memory,
        simulated_speed,
        simulated_million,
        order_quality,
        order_scale,
        order_of_slots,
        memory_peaks,
        row_loops,
        developer_lowering,
        lower_and_emit,
        developer_times,
    )
}
ROWS.update(SCHEDULES)
ROWS.update(TUNING)
ON_REQUEST: dict[str, Measurement] = {
    **LONG_SCHEDULES, **FUSED, **NEWCOMERS, **ADVICE, **PUZZLES, **JUDGE, **CHANGE,
}  # fmt: skip


def measure_rows(names: Sequence[str], folder: Path) -> list[Row]:
    """The named rows, or all but those that are measured on request only; `a` names every row
    `a.b`. KernelError for a name there is none of."""
    measurements = [m for name in names for m in _named(name)] if names else list(ROWS.items())
    examples = Examples(folder)
    rows: list[Row] = []
    for name, measurement in measurements:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += measurement(examples)
    return rows


def _named(name: str) -> list[tuple[str, Measurement]]:
    known = ROWS | ON_REQUEST
    found = [(name, known[name])] if name in known else []
    for rows in (ROWS, ON_REQUEST):
        found = found or [item for item in rows.items() if item[0].startswith(f"{name}.")]
    if not found:
        raise KernelError(
            "no-such-row",
            f"no row is called {name!r}",
            hint=did_you_mean(name, known) or f"rows: {', '.join(known)}",
        )
    return found


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, with the machine they were measured on."""
    lines = [
        f"{_cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}",
        "",
        "| what | median | least | most | unit | runs | limit |",
        "|---|---:|---:|---:|---|---:|---|",
    ]
    lines += [
        f"| {r.name} | {r.median:.3g} | {r.low:.3g} | {r.high:.3g} | {r.unit} | {r.runs} "
        f"| {r.verdict} |"
        for r in rows
    ]
    return "\n".join(lines)


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _build_anew(kernel: JITKernel) -> Timings:
    with empty_cache():
        return compile(kernel.prim_func).timings
