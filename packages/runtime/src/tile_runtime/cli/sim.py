"""`tile-ascend sim`: a kernel of an Ascend C source on the simulator."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import BuildError, CallError, KernelError, TileError
from tile_ir.switches import SWITCHES

if TYPE_CHECKING:
    from tile_runtime.timeline import Timeline

_DESCRIPTION = """\
Compile a kernel of an Ascend C source for this machine and run it on the simulator, in a process of
its own. Exit code: 0 the kernel ran, 1 it broke a rule or crashed, 2 it could not be run.
"""
_EXAMPLE = """\
example:
  tile-ascend sim add.cpp --kernel add --blocks 8 --in x=f16[8,2048] --in y=f16[8,2048]:arange \\
      --out z=f16[8,2048] --scalar n=2048 --save z=z.npy

arrays: dtype[shape] with dtype one of f16 bf16 f32 i8 i16 i32 i64 u8 u16 u32 u64, then `:random`
(the default, the same every time), `:zeros`, `:arange` or `:file.npy`; `name=file.npy`; or
`name=@file.bin` for bytes, such as a tiling struct. An array of --out is filled with 0xFF before
the run (NaN, -1), so that what the kernel leaves out shows. All names are parameters of the kernel.
"""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "sim",
        help="run an Ascend C kernel on the simulator",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", type=Path, help="Ascend C source")
    parser.add_argument("--kernel", help="name of the kernel (default: the only one)")
    parser.add_argument("--template", metavar="NAME<...>", help="instantiation of a template")
    parser.add_argument("--blocks", type=int, default=1, help="blocks to launch (default: 1)")
    for option, what in (
        ("--in", "array the kernel reads"),
        ("--out", "array the kernel writes; told about after the run"),
        ("--scalar", "number"),
        ("--save", "write an array to a .npy file after the run"),
    ):
        parser.add_argument(
            option, action="append", default=[], metavar="NAME=VALUE", dest=option.strip("-") + "_",
            help=f"{what}; may be repeated",
        )  # fmt: skip
    parser.add_argument("--check", choices=SWITCHES["check"].choices, help="what is checked")
    parser.add_argument("--seed", type=int, help="order in which cores are scheduled")
    parser.add_argument(
        "--starve",
        choices=SWITCHES["starve"].choices[1:],
        metavar="CORE",
        help="aic, aiv0 or aiv1 runs only when no other core of its block can",
    )
    parser.add_argument(
        "--time", action="store_true", default=None, help="model the time, and tell where it goes"
    )
    for option, what in (
        ("--report", "write a page about the modelled time"),
        ("--trace", "write a Chrome trace, which opens in Perfetto"),
        ("--save-timeline", "save the timeline, for `tile-ascend report`"),
    ):
        parser.add_argument(option, type=Path, metavar="FILE", help=f"{what}; includes --time")
    parser.add_argument("--threads", type=int, help="host threads; 0 means one per core")
    parser.add_argument("--soc", help="chip to simulate")
    parser.add_argument("--timeout", type=float, help="seconds the kernel may run; 0: no limit")
    parser.add_argument("--kernel-type", help="KERNEL_TYPE_..., if the source does not set it")
    parser.add_argument("-I", dest="includes", action="append", default=[], metavar="FOLDER")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        return _run(options)
    except (KernelError, BuildError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
    return 2


def _run(options: argparse.Namespace) -> int:
    from tile_runtime.cli.array_argument import as_numpy, split_argument, summary
    from tile_runtime.cli.time_summary import time_summary
    from tile_runtime.source_kernel.simulate import simulate

    arguments, told = _arguments(options)
    saved = [split_argument(text) for text in options.save_]
    unknown = [name for name, _ in saved if name not in arguments]
    if unknown:
        raise CallError("kernel-arguments", f"--save {unknown[0]}: no such --in or --out")
    result = simulate(
        options.source, options.kernel, options.blocks, arguments, check=options.check,
        seed=options.seed, starve=options.starve, threads=options.threads, time=_timed(options),
        soc=options.soc, timeout=options.timeout, includes=options.includes,
        defines=options.defines, template=options.template, kernel_type=options.kernel_type,
    )  # fmt: skip
    if result.text:
        print(result.text, end="" if result.text.endswith("\n") else "\n")
    if result.warnings:
        sys.stdout.flush()
    for warning in result.warnings:
        print(warning.render(), file=sys.stderr)
    try:
        result.raise_for_error()
    except TileError as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return 1
    for name in told:
        print(summary(name, result.outputs[name]))
    if result.timeline is not None:
        print(time_summary(result.timeline))
        _write_timeline(options, result.timeline)
    if saved:
        import numpy as np

        for name, path in saved:
            np.save(path, as_numpy(result.outputs[name]))
    return 0


def _timed(options: argparse.Namespace) -> bool | None:
    wanted = (options.report, options.trace, options.save_timeline)
    return True if any(path is not None for path in wanted) else options.time


def _write_timeline(options: argparse.Namespace, timeline: Timeline) -> None:
    """The files that were asked for."""
    from tile_ir.switches import switch
    from tile_runtime.chrome_trace import write_chrome_trace
    from tile_runtime.report.page import report_page
    from tile_runtime.saved_timeline import save_run
    from tile_runtime.timed_run import TimedRun

    files = (name for name in timeline.strings if Path(name).is_file())
    sources = {name: Path(name).read_text(errors="replace") for name in files}
    kernel = options.kernel or options.source.stem
    timed = TimedRun(timeline, kernel, options.soc or switch("soc"), sources)
    if options.report is not None:
        options.report.write_text(report_page(timed), encoding="utf-8")
    if options.trace is not None:
        write_chrome_trace(timed, options.trace)
    if options.save_timeline is not None:
        save_run(timed, options.save_timeline)


def _arguments(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Arguments by name, and the names of the outputs."""
    from tile_runtime.cli.array_argument import input_array, output_array, split_argument

    arguments: dict[str, Any] = {}
    told: list[str] = []
    for number, text in enumerate(options.in_):
        name, value = split_argument(text)
        _once(name, arguments)
        arguments[name] = input_array(name, value, seed=number)
    for text in options.out_:
        name, equals, value = text.partition("=")
        told.append(name)
        if equals:
            _once(name, arguments)
            arguments[name] = output_array(*split_argument(text))
        elif name not in arguments:  # `--out x` tells about an array that is read too
            raise CallError("kernel-arguments", f"--out {name}: expected {name}=dtype[shape]")
    for text in options.scalar_:
        name, value = split_argument(text)
        _once(name, arguments)
        arguments[name] = _number(name, value)
    return arguments, told


def _once(name: str, arguments: dict[str, Any]) -> None:
    if name in arguments:
        raise CallError("kernel-arguments", f"{name} is given twice")


def _number(name: str, text: str) -> int | float:
    try:
        value = ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        try:
            value = float(text)  # inf, nan
        except ValueError:
            value = None
    if not isinstance(value, (int, float)):
        raise CallError("kernel-arguments", f"--scalar {name}={text}: expected a number")
    return value
