"""`tile-ascend bench`: measure a kernel, or this compiler on this machine."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tile_ir import CallError
from tile_runtime.tools.command_line.checkout import checkout_module
from tile_runtime.tools.command_line.kernel_argument import names_a_kernel, parse_arguments
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
    parser.add_argument(
        "--vary", metavar="NAME=SIZES",
        help="measure over sizes on the time model: M=256:8192:x2, M,N=256:1024:+256, or M=1,2,3; "
        "an argument of the factories, or a symbolic size",
    )  # fmt: skip
    parser.add_argument(
        "--vs", action="append", default=[], metavar="K", help="another kernel to vary; repeatable"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.svg",
        help="draw time, rate and roofline share over the sizes, with a .csv beside it",
    )  # fmt: skip
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> int:
    kernels = [name for name in options.rows if names_a_kernel(name)]
    if kernels and len(kernels) < len(options.rows):
        other = next(name for name in options.rows if name not in kernels)
        raise CallError("kernel-arguments", f"{other!r} is no kernel, expected script.py:name")
    if options.vary is not None:
        return _vary(options)
    if options.vs or options.plot is not None:
        raise CallError(
            "kernel-arguments",
            f"{'--vs' if options.vs else '--plot'} compares kernels over sizes",
            hint="say which: --vary M=256:8192:x2",
        )
    if not kernels:
        return _measure_compiler(options)
    text = "\n".join(line for name in kernels for line in _kernel_lines(name, options))
    _show(text, options.output)
    return 0


def _vary(options: argparse.Namespace) -> int:
    """Measure kernels over sizes, and draw them."""
    from tile_runtime.tools.command_line.varied_kernels import varied_kernels
    from tile_runtime.tools.command_line.vary_argument import vary_argument
    from tile_runtime.tools.report.perf_report import measure
    from tile_runtime.tools.report.perf_table import PerfPoint

    if options.in_ or options.scalar_:
        raise CallError("kernel-arguments", "--in and --scalar are of one size, and --vary is not")
    if options.plot is not None and options.plot.suffix != ".svg":
        raise CallError(
            "kernel-arguments", f"--plot {options.plot}: curves are drawn as .svg",
            hint=f"--plot {options.plot.with_suffix('.svg')}",
        )  # fmt: skip

    def seen(point: PerfPoint) -> None:
        what = point.problem or f"{point.microseconds:.2f} us"
        sizes = ", ".join(f"{name}={value}" for name, value in point.size.items())
        print(f"{point.kernel}, {sizes}: {what}", file=sys.stderr)

    arguments = parse_arguments(options.arg)
    found = varied_kernels([*options.rows, *options.vs])
    table = measure(found, vary_argument(options.vary), arguments, seen=seen)
    _show(str(table), options.output)
    if options.plot is not None:
        print(f"{table.save(options.plot)} and {options.plot.with_suffix('.csv').name}")
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
    """Measure a kernel; modelled times are the same at every run."""
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
