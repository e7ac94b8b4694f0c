"""`tile-ascend tune`: what tuners found, and its export; a kernel made faster by advice."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING

from tile_ir import CallError, KernelError
from tile_runtime.tools.command_line.kernel_argument import names_a_kernel
from tile_runtime.tools.command_line.kernel_run import add_run_arguments

if TYPE_CHECKING:
    from tile_runtime.tuning.results import TuningResults

# So many changes are tried at each step unless more or fewer are asked for.
_TRIES = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", metavar="KERNEL",
        help="follow the advice of a report on script.py:name until nothing helps",
    )  # fmt: skip
    parser.add_argument(
        "--tries", type=int, default=_TRIES, metavar="N",
        help="changes to try at each step of --quick (default: %(default)s)",
    )  # fmt: skip
    add_run_arguments(parser)
    parser.set_defaults(run=run_quick)
    actions = parser.add_subparsers(metavar="action")
    listed = actions.add_parser("ls", help="a line for each call that was tuned, the latest first")
    listed.set_defaults(run=run_ls)
    export = actions.add_parser("export", help="what was tried of one call: a table, a picture")
    export.add_argument("study", nargs="?", default="", help="its name in `ls`, or the latest")
    export.add_argument("--csv", metavar="FILE", help="a line for each configuration")
    export.add_argument("--svg", metavar="FILE", help="time against each parameter")
    export.set_defaults(run=run_export)


def run_quick(options: argparse.Namespace) -> int:
    if options.quick is None:
        raise CallError(
            "kernel-arguments", "nothing to tune",
            hint="tile-ascend tune --quick script.py:factory, or tile-ascend tune ls",
        )  # fmt: skip
    from tile_runtime.tools.command_line.quick_tune import quick_tune

    if not names_a_kernel(options.quick):
        raise CallError(
            "kernel-arguments", f"{options.quick!r} is no kernel, expected script.py:name"
        )
    for line in quick_tune(options.quick, options):
        print(line, flush=True)
    return 0


def run_ls(options: argparse.Namespace) -> int:
    for found in _studies():
        counts = Counter(row.state for row in found.rows)
        states = ", ".join(f"{count} {state}" for state, count in counts.items())
        last = max(row.ended for row in found.rows)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(last))
        print(f"{found.name}  {when}  {found.title}: {states}{_best(found)}")
    return 0


def run_export(options: argparse.Namespace) -> int:
    found = [s for s in _studies() if s.name.startswith(options.study)]
    if not found:
        raise KernelError(
            "tuning-results", f"nothing that was tuned is called {options.study!r}",
            hint="tile-ascend tune ls shows what there is",
        )  # fmt: skip
    if options.csv:
        found[0].to_csv(options.csv)
    if options.svg:
        found[0].to_svg(options.svg)
    if not (options.csv or options.svg):
        print(found[0].csv_text(), end="")
    return 0


def _studies() -> list[TuningResults]:
    from tile_runtime.tuning.results import ResultStore

    return ResultStore().studies()


def _best(found: TuningResults) -> str:
    best = found.best
    if best is None:
        return ""
    values = ", ".join(f"{name}={value}" for name, value in best.values.items())
    return f"; best {1e3 * (best.milliseconds or 0):.2f} us: {values}"
