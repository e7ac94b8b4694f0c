"""Rows about what a call costs besides the kernel: the start of a process whose kernel is in the
cache, and each call after that."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from bench.row import RUNS, Examples, Row, empty_cache, repeat, summary
from tile_ir import parse
from tile_runtime.jit_kernels.jit_compile import compile
from tile_runtime.jit_kernels.kernel import JITKernel

_FIRST_RESULT = """
import sys, time, torch
from pathlib import Path
start, used = time.perf_counter(), time.process_time()
import tile_frontend as T
sys.path.insert(0, sys.argv[1])
kernel = __import__("01_vector_add").vector_add(64, 64, 64)
x = torch.ones(64, 64)
assert (kernel(x, x) == 2).all()
print(time.perf_counter() - start, time.process_time() - used)
"""


def cold_start(examples: Examples) -> list[Row]:
    """A process whose kernel is in the cache: from `import torch` to its first result, by the clock
    and by the time of the processor, in which other work on the machine does not count."""
    command = [sys.executable, "-c", _FIRST_RESULT, str(examples.folder)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(RUNS + 3)
    ]
    name = "first result of a cached kernel, beyond import torch"
    # The first run may compile, and write the bytecode of modules.
    elapsed, used = ([float(run[n]) for run in runs[1:]] for n in (0, 1))
    return [
        summary(name, elapsed, "ms", 300),
        summary(f"{name}, time of the processor", used, "ms", 300),
    ]


def call_overhead(examples: Examples) -> list[Row]:
    """A call of a cached kernel that does nothing: all of it, and what it takes on top of the bare
    native call, which has its pointers already."""
    rows = []
    for tensors in (1, 3, 8):
        with empty_cache():
            kernel = _no_op_kernel(tensors)
            arguments = [torch.zeros(16) for _ in range(tensors)]
            kernel(*arguments)
            call = kernel._binder.bind(tuple(arguments))
            launch: Any = kernel._launch
            bare = functools.partial(launch._run, call.values, call.sizes)
            native, called = _in_turns(bare, functools.partial(kernel, *arguments))
        label = f"call of a no-op kernel, {tensors} tensor{'s' * (tensors > 1)}"
        rows.append(summary(label, called, "us", 15))
        overhead = [c - n for c, n in zip(called, native, strict=True)]
        rows.append(summary(f"{label}: on top of the native call", overhead, "us", 6))
    return rows


def _in_turns(*runs: Callable[[], object]) -> list[list[float]]:
    """Seconds of one run of each, in turns so that a busy machine slows all alike."""
    calls = 2000

    def many(run: Callable[[], object]) -> None:
        for _ in range(calls):
            run()

    seconds: list[list[float]] = [[] for _ in runs]
    for turn in range(2 * RUNS + 1):
        for run, taken in zip(runs, seconds, strict=True):
            once = repeat(functools.partial(many, run), 1)
            if turn:  # the first turn makes ready what the others find
                taken.append(once[0] / calls)
    return seconds


def _no_op_kernel(tensors: int) -> JITKernel:
    """A kernel that takes tensors and has an empty body."""
    params = "\n".join(f"  tensor $t{i} : float32[16] @0:1:1" for i in range(tensors))
    text = (
        f'file 0 "no_op.py"\nfunc "no_op" phase built @0:1:1 {{\n{params}\n'
        "  launch blocks(1) %cid %vid threads any @0:1:1 {\n  }\n}\n"
    )
    return compile(parse(text))
