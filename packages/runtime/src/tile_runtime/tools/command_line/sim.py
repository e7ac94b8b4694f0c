"""`tile-ascend sim`: a kernel of an Ascend C source on the simulator."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import BuildError, CallError, Diagnostic, KernelError, KernelWarning, TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import SWITCHES, override, switch
from tile_runtime.tools.command_line.finding_formats import Found, as_json, as_sarif, found_by
from tile_runtime.tools.command_line.kernel_argument import add_kernel_arguments, names_a_kernel

if TYPE_CHECKING:
    from tile_runtime.tools.report.timed_run import TimedRun

# Options that are switches while a kernel of a script is made and run.
_SWITCHES = ("check", "seed", "starve", "threads", "soc", "timeout", "first")
# Options that say what a script says itself: where argparse keeps them, and their defaults.
_OF_SOURCES: dict[str, tuple[str, Any]] = {
    "--kernel": ("kernel", None), "--template": ("template", None), "--blocks": ("blocks", 1),
    "--kernel-type": ("kernel_type", None), "-I": ("includes", []), "-D": ("defines", []),
}  # fmt: skip

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
`name=@file.bin` for bytes, such as a tiling struct. All names are parameters of the kernel;
`x[0]=...`, `x[1]=...` are the arrays of a list (ListTensorDesc).

An array of --out NAME=dtype[shape] holds nothing before the run: its bytes are 0xFF (NaN, -1), what
reads them before it wrote them is an error, and what is not written at the end is told. One that
holds something is given by --in NAME=..., and --out NAME tells about it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLE
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", help="Ascend C source, or script.py:name of a kernel in Python")
    add_kernel_arguments(parser)
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
        "--first", action="store_true", default=None, help="end at the first error, do not go on"
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
    formats = parser.add_mutually_exclusive_group()
    for option, what in (("--json", "JSON"), ("--sarif", "SARIF, for code hosts")):
        formats.add_argument(
            option, action="store_true", help=f"print the findings as {what}, all else to stderr"
        )


def run(options: argparse.Namespace) -> int:
    found: list[Found] = []
    timed: list[TimedRun] = []
    if not (options.json or options.sarif):
        return _ended(options, found, timed)
    with redirect_stdout(sys.stderr), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", KernelWarning)
        code = _ended(options, found, timed)
    for warning in told:
        if isinstance(warning.message, KernelWarning):
            found.append(Found(warning.message.remark))
        print(warning.message, file=sys.stderr)
    if options.sarif:
        print(as_sarif(found))
        return code
    name = options.kernel or Path(options.source).stem
    level = options.check or switch("check")
    times = [{"source": t.source_hash, "microseconds": t.timeline.microseconds} for t in timed]
    print(as_json(found, name, level, code, **({"modelled": times[0]} if times else {})))
    return code


def _ended(options: argparse.Namespace, found: list[Found], timed: list[TimedRun]) -> int:
    """Run it, and return the exit code. Adds the findings, also printed on stderr, and the run if
    it was timed."""
    try:
        return _run(options, found, timed)
    except TileError as error:
        print(error, file=sys.stderr)
        found.extend(found_by(error))
        return 2 if isinstance(error, (KernelError, BuildError)) else 1
    except OSError as error:
        from tile_runtime.tools.command_line import file_problem

        print(f"error: {file_problem(error)}", file=sys.stderr)
        found.append(Found(Diagnostic("no-source", file_problem(error))))
    return 2


def _run(options: argparse.Namespace, found: list[Found], times: list[TimedRun]) -> int:
    from tile_runtime.tools.command_line.array_argument import as_numpy, split_argument, summary
    from tile_runtime.tools.command_line.report import write_files
    from tile_runtime.tools.command_line.time_summary import time_summary

    script = names_a_kernel(options.source)
    ran = _run_of_script(options) if script else _run_of_source(options, found)
    outputs, timed = ran.outputs, ran.timed
    for name in ran.told:
        print(summary(name, outputs[name]))
    if timed is not None:
        times.append(timed)
        print(time_summary(timed))
        write_files(timed, options.report, options.trace, options.save_timeline)
    if not ran.told and timed is None:
        level = options.check or switch("check")
        print(f"{ran.kernel}({', '.join(outputs)}) ran without an error, checked at level {level}")
    for name, path in map(split_argument, options.save_):
        import numpy as np

        np.save(path, as_numpy(outputs[name]))
    return 0


def _check_saved(options: argparse.Namespace, known: Collection[str]) -> None:
    for text in options.save_:
        name = text.partition("=")[0]
        if name not in known:
            raise CallError("kernel-arguments", f"--save {name}: no such --in or --out")


@dataclass(frozen=True, slots=True)
class _Ran:
    """A run without fault: arrays by name as it left them, the names `told` to print, and the timed
    run if there is one."""

    kernel: str
    outputs: Mapping[str, Any]
    told: Sequence[str]
    timed: TimedRun | None


def _run_of_source(options: argparse.Namespace, found: list[Found]) -> _Ran:
    """Run a kernel of an Ascend C source. SimulationError if it broke a rule."""
    from tile_runtime.cache.fingerprint import source_hash
    from tile_runtime.source_kernels.simulate import simulate
    from tile_runtime.tools.report.timed_run import TimedRun

    source = Path(options.source)
    arguments, told, unwritten = _arguments(options)
    _check_saved(options, arguments)
    soc = options.soc or switch("soc")
    result = simulate(
        source, options.kernel, options.blocks, arguments, check=options.check,
        seed=options.seed, starve=options.starve, threads=options.threads, time=_timed(options),
        soc=options.soc, timeout=options.timeout, first=options.first, unwritten=unwritten,
        includes=options.includes, defines=options.defines, template=options.template,
        kernel_type=options.kernel_type,
    )  # fmt: skip
    kernel = options.kernel or source.stem
    if result.text:
        print(result.text, end="" if result.text.endswith("\n") else "\n")
    if result.warnings:
        sys.stdout.flush()
    for warning in result.warnings:
        print(warning.render(), file=sys.stderr)
        found.append(Found(warning))
    sys.stdout.flush()
    result.raise_for_error()
    hashed = source_hash(source.read_text(errors="replace"))
    print(f"{kernel} for {soc}; source {hashed}", file=sys.stderr)
    if result.timeline is None:
        return _Ran(kernel, result.outputs, told, None)
    files = (name for name in result.timeline.strings if Path(name).is_file())
    sources = {name: Path(name).read_text(errors="replace") for name in files}
    timed = TimedRun(result.timeline, kernel, soc, sources)
    return _Ran(kernel, result.outputs, told, timed)


def _run_of_script(options: argparse.Namespace) -> _Ran:
    """Run a kernel of a Python script as the script would call it."""
    from tile_runtime.launcher.signature import TensorParam
    from tile_runtime.tools.command_line.kernel_run import (
        call,
        made_kernel,
        run_arguments,
        timed_call,
    )

    for option, (name, default) in _OF_SOURCES.items():
        if getattr(options, name) != default:
            raise CallError("kernel-arguments", f"{option} is for sources in Ascend C")
    chosen = {name: getattr(options, name) for name in _SWITCHES}
    if options.timeout is not None:
        chosen["timeout"] = math.ceil(options.timeout)
    with override(**{name: value for name, value in chosen.items() if value is not None}):
        kernel = made_kernel(options.source, options)
        declared = kernel.parameters[: len(kernel.prim_func.params)]
        made = [declared[i].name for i in kernel.out_idx]
        arguments = run_arguments(kernel, options)
        fixed = {*kernel.out_idx, *kernel.workspace_idx}
        inputs = [p for i, p in enumerate(declared) if i not in fixed]
        arrays = {
            p.name: a for p, a in zip(inputs, arguments, strict=True) if isinstance(p, TensorParam)
        }
        _check_saved(options, {*arrays, *made})
        for name in options.out_:
            if name not in arrays:
                raise CallError("kernel-arguments", f"--out {name}: no such input of the kernel")
        timed = None
        if _timed(options) or switch("time"):
            timed, result = timed_call(kernel, arguments, options)
        else:
            result = call(kernel, arguments, options)
    results = [result] if len(made) == 1 else result
    outputs = {**arrays, **dict(zip(made, results, strict=True))}
    arrays = {n: _for_numpy(t) for n, t in outputs.items()}
    return _Ran(kernel.prim_func.name, arrays, [*options.out_, *made], timed)


def _for_numpy(tensor: Any) -> Any:
    """NumPy has no bfloat16; arrays of it stay tensors."""
    import torch

    return tensor.cpu() if tensor.dtype is torch.bfloat16 else tensor.cpu().numpy()


def _timed(options: argparse.Namespace) -> bool | None:
    wanted = (options.report, options.trace, options.save_timeline)
    return True if any(path is not None for path in wanted) else options.time


def _arguments(options: argparse.Namespace) -> tuple[dict[str, Any], list[str], list[str]]:
    """Arguments by name, the names of the outputs, and of those that hold nothing yet."""
    from tile_runtime.tools.command_line.array_argument import (
        input_array,
        number_argument,
        output_array,
        split_argument,
    )

    arguments: dict[str, Any] = {}
    told: list[str] = []
    unwritten: list[str] = []
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
            unwritten.append(name)
        elif name not in arguments:  # `--out x` tells about an array that is read too
            raise CallError("kernel-arguments", f"--out {name}: expected {name}=dtype[shape]")
    for text in options.scalar_:
        name, value = split_argument(text)
        _once(name, arguments)
        arguments[name] = number_argument(name, value)
    return _with_lists(arguments), told, unwritten


def _with_lists(arguments: dict[str, Any]) -> dict[str, Any]:
    """`x[0]`, `x[1]`, ... as one list `x`."""
    gathered: dict[str, Any] = {}
    for name, value in arguments.items():
        of, bracket, index = name.partition("[")
        if not bracket:
            gathered[name] = value
            continue
        items = gathered.setdefault(of, [])
        if not isinstance(items, list) or int(index[:-1]) != len(items):
            raise CallError("kernel-arguments", f"{name}: the arrays of a list go from 0 in order")
        items.append(value)
    return gathered


def _once(name: str, arguments: dict[str, Any]) -> None:
    if name in arguments:
        raise CallError("kernel-arguments", f"{name} is given twice")
