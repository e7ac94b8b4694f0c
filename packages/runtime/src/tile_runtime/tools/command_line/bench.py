"""`tile-ascend bench`: measure a kernel, or this compiler on this machine."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from tile_ir import CallError
from tile_runtime.tools.command_line.checkout import checkout_module
from tile_runtime.tools.command_line.kernel_argument import names_a_kernel
from tile_runtime.tools.command_line.kernel_run import (
    add_run_arguments,
    made_kernel,
    run_arguments,
    timed_call,
)

_DESCRIPTION = """\
Measure kernels of scripts, named as script.py:factory, with inputs of their own making: modelled
time on the device, time on this host, rates, and how near they come to what the chip could do.
Without one, measure this compiler: compile, cache, call and simulation times of the examples. This
needs a checkout of the sources, which has the rows in tests/bench.
"""
# Calls that are timed on the host, after the one that is modelled.
_RUNS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "rows", nargs="*", help="kernels, or rows to measure of the compiler (default: all)"
    )
    parser.add_argument("-o", "--output", type=Path, help="write what is printed to a file too")
    parser.add_argument(
        "--examples", type=Path, default=Path("examples"), help="folder of the kernels of the rows"
    )
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> int:
    kernels = [name for name in options.rows if names_a_kernel(name)]
    if kernels and len(kernels) < len(options.rows):
        other = next(name for name in options.rows if name not in kernels)
        raise CallError("kernel-arguments", f"{other!r} is no kernel, expected script.py:name")
    if not kernels:
        return _measure_compiler(options)
    text = "\n".join(line for name in kernels for line in _kernel_lines(name, options))
    _show(text, options.output)
    return 0


def _measure_compiler(options: argparse.Namespace) -> int:
    measurements = checkout_module(
        "bench.measurements",
        "measuring the compiler",
        "name a kernel: `tile-ascend bench script.py:factory`; or run `make bench` in a checkout",
    )
    rows = measurements.measure_rows(options.rows, options.examples)
    _show(measurements.table(rows), options.output)
    return 1 if any(row.missed for row in rows) else 0


def _show(text: str, output: Path | None) -> None:
    print(text)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text + "\n")


def _kernel_lines(name: str, options: argparse.Namespace) -> Iterator[str]:
    """What one measures of a kernel; modelled times are the same at every run."""
    from tile_ir.switches import switch
    from tile_runtime.simulator.time_error import modelled_text
    from tile_runtime.tools.report.roofline import roofline

    kernel = made_kernel(name, options)
    arguments = run_arguments(kernel, options)
    run, _ = timed_call(kernel, arguments, options)
    line = run.timeline
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        kernel(*arguments)
        seconds.append(time.perf_counter() - start)
    found = roofline(run)
    spent = kernel.timings
    yield f"{kernel.name}, source {kernel.source_hash}"
    yield f"modelled  {modelled_text(line)}"
    yield (
        f"host      {statistics.median(seconds) * 1e3:.2f} ms a call on the simulator "
        f"(median of {_RUNS}, checks {switch('check')}), "
        + ("compiled before" if spent.cached else f"compiled in {spent.compile:.2f} s")
    )
    moved = line.totals["read_bytes"] + line.totals["write_bytes"]
    yield (
        f"memory    {_rate(found.bytes, found.seconds)} GB/s of the tensors of the call, "
        f"{_rate(moved, found.seconds)} GB/s moved"
    )
    yield f"compute   {_rate(found.operations, found.seconds)} GFLOP/s"
    yield (
        f"roofline  {100 * found.share:.1f} %: {found.bound} alone would need "
        f"{found.least[found.bound] * 1e6:.2f} us"
    )


def _rate(count: float, seconds: float) -> str:
    return f"{count / seconds / 1e9:.2f}" if seconds > 0 else "-"
