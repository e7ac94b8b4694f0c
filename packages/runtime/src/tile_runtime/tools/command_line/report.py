"""`tile-ascend report`: a page and a trace of where a kernel's time goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir import CallError, KernelError, did_you_mean
from tile_ir.switches import override
from tile_runtime.scripts.module import run_script
from tile_runtime.tools.command_line.kernel_argument import names_a_kernel, parse_arguments
from tile_runtime.tools.command_line.kernel_run import (
    add_run_arguments,
    made_kernel,
    run_arguments,
    timed_call,
)

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel
    from tile_runtime.tools.report.timed_run import TimedRun

_DESCRIPTION = """\
Run a script, or one kernel of it, with the clock of the simulator on, or read a saved timeline, and
write what became of the last run of a kernel, and why it took its time: an HTML page, or text, and
if wanted a Chrome trace, which opens in Perfetto.
"""
# More would be a mistyped range.
_MOST_BLOCKS = 65536
# So many changes are tried unless more or fewer are asked for.
_TRIES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "source",
        nargs="?",
        help="a script, script.py:name of a kernel to run, or a timeline saved by --save",
    )
    parser.add_argument(
        "--diff",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="print what became of a kernel from one version to the other, each a source as above",
    )
    add_run_arguments(parser)
    parser.add_argument(
        "-o", "--output", type=Path, help="the page (default: report.html, none with --text)"
    )
    parser.add_argument(
        "--tries", type=int, default=_TRIES, metavar="N",
        help="changes of script.py:name to try for the verdict (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--text", action="store_true", help="print the report, without a page")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a Chrome trace too")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the timeline too, as .npz")
    parser.add_argument(
        "--kernel",
        help="name of the kernel, with or without its arguments (default: the last that ran)",
    )
    parser.add_argument(
        "--blocks",
        type=_block_list,
        metavar="LIST",
        help="blocks to draw, such as 0,4-7 (default: as many as fit)",
    )


def run(options: argparse.Namespace) -> int:
    from tile_runtime.tools.report.report_text import headline, report_text, verdict_text
    from tile_runtime.tools.report.why.measures import Measures

    if options.diff is not None:
        return _diff(options)
    if options.source is None:
        raise CallError("kernel-arguments", "nothing to report on: name a script or a timeline")
    timed = _run_of(options.source, options)
    output = options.output or (None if options.text else Path("report.html"))
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
    write_files(timed, output, options.trace, options.save, options.blocks)
    if options.text:
        print(report_text(timed))
    else:
        print(f"{output}: {headline(timed)}")
        print(verdict_text(Measures(timed)))
    return 0


def write_files(
    timed: TimedRun,
    page: Path | None,
    trace: Path | None,
    archive: Path | None,
    blocks: Sequence[int] | None = None,
) -> None:
    """Write the chosen files of a run: the page, a Chrome trace, and the saved timeline."""
    from tile_runtime.tools.report.chrome_trace import write_chrome_trace
    from tile_runtime.tools.report.page import report_page
    from tile_runtime.tools.report.saved_timeline import save_run

    if page is not None:
        page.write_text(report_page(timed, blocks), encoding="utf-8")
    if trace is not None:
        write_chrome_trace(timed, trace, blocks)
    if archive is not None:
        save_run(timed, archive)


def _diff(options: argparse.Namespace) -> int:
    from tile_runtime.tools.command_line.diff_text import diff_text

    if options.source is not None:
        raise CallError(
            "kernel-arguments", f"--diff takes two sources, {options.source} is a third"
        )
    old, new = (_run_of(source, options) for source in options.diff)
    print(diff_text(old, new, (options.diff[0], options.diff[1])))
    return 0


def _run_of(source: str, options: argparse.Namespace) -> TimedRun:
    """The run a source stands for. KernelError if it has none."""
    from tile_runtime.tools.report.saved_timeline import load_run

    if names_a_kernel(source):
        kernel = made_kernel(source, options)
        timed = _advised_run(source, kernel, options)
    elif source.endswith(".py"):
        timed = _last_run(Path(source), options.kernel)
    else:
        timed = load_run(Path(source))
        if options.kernel is not None and _named(options.kernel, [timed.kernel]) is None:
            raise _no_kernel(source, options.kernel, [timed.kernel])
    return timed


def _advised_run(source: str, kernel: JITKernel, options: argparse.Namespace) -> TimedRun:
    """Run a kernel, and try changes of it."""
    arguments = run_arguments(kernel, options)
    if options.tries <= 0:
        return timed_call(kernel, arguments, options)[0]
    from tile_runtime.tools.command_line.advised_run import advised_call
    from tile_runtime.tools.command_line.kernel_program import kernel_program

    program = kernel_program(source, parse_arguments(options.arg))
    told = f"trying up to {options.tries} changes, each as long as a run (--tries 0: none)"
    print(told, file=sys.stderr)
    return advised_call(kernel, program, arguments, options, options.tries)[0]


def _last_run(script: Path, kernel: str | None) -> TimedRun:
    """The last run of a kernel in a script. KernelError if there was none."""
    from tile_runtime.tools.report.timed_run import watch_timed_runs

    last: dict[str, TimedRun] = {}

    def seen(timed: TimedRun) -> None:
        last.pop(timed.kernel, None)  # so that the last kernel is the last entry
        last[timed.kernel] = timed

    with override(time=True), watch_timed_runs(seen):
        code = run_script(script)
    if code:
        print(f"{script} ended with status {code}", file=sys.stderr)
    if not last:
        raise KernelError(
            "no-timed-run",
            f"{script} ran no kernel on the simulator",
            hint=f"call a kernel in it, or name one: tile-ascend report {script}:NAME",
        )
    if kernel is None:
        return list(last.values())[-1]
    chosen = _named(kernel, list(last))
    if chosen is None:
        raise _no_kernel(script, kernel, list(last))
    return last[chosen]


def _named(kernel: str, ran: Sequence[str]) -> str | None:
    """Return the kernel with this name; of a function without arguments, the last that ran."""
    from tile_runtime.jit_kernels.kernel_name import function_of

    if kernel in ran:
        return kernel
    return next((name for name in reversed(ran) if function_of(name) == kernel), None)


def _no_kernel(source: Path | str, kernel: str, known: list[str]) -> KernelError:
    hint = did_you_mean(kernel, known) or f"one of {', '.join(known)}"
    return KernelError("no-such-kernel", f"{source} ran no kernel called {kernel!r}", hint=hint)


def _block_list(text: str) -> list[int]:
    """`0,4-7` as numbers."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 0,4-7")
        low, high = int(first), int(last or first)
        if high < low or high >= _MOST_BLOCKS:
            raise argparse.ArgumentTypeError(f"{part!r} is not a range of blocks")
        found += range(low, high + 1)
    return found
