"""`tile-ascend selftest`: every example and every operation on the simulator, or on the NPU."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tile_ir import BuildError
from tile_ir.switches import override
from tile_runtime.tools.command_line.checkout import CHECKOUT, checkout_module


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "selftest", help="run every example and operation on a device and compare the results"
    )
    parser.add_argument(
        "--device", choices=("sim", "npu"), default="sim",
        help="sim: against torch and NumPy; npu: against the simulator, with times of both",
    )  # fmt: skip
    parser.add_argument(
        "--only", metavar="PATTERN", default="*", help="such as 'ops/*' or 'examples/0[1-3]*'"
    )
    parser.add_argument("--sources", type=Path, metavar="FOLDER", help="a checkout of the sources")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a line for each case as it ends; 1 if a result differs or a case fails."""
    cases_of = checkout_module(
        "selftest.run_cases", "the self-test", "name one: --sources FOLDER", options.sources
    )
    on_npu = options.device == "npu"
    chip = _chip(on_npu)
    cases = cases_of.find_cases(options.sources or CHECKOUT, options.only)
    width = max(len(case.name) for case in cases)
    rows = []
    with override(soc=chip):
        print(f"{len(cases)} cases on {'the NPU and ' if on_npu else ''}the simulator of {chip}")
        print(_line("case", width, "", "error", "modelled", "measured", ""))
        for row in cases_of.run_cases(cases, on_npu):
            rows.append(row)
            print(_row_line(row, width), flush=True)
    wrong = sum(row.wrong for row in rows)
    left = sum(row.verdict == "not run" for row in rows)
    print(f"{len(rows) - wrong - left} ok, {wrong} wrong, {left} not run")
    return int(wrong > 0)


def _chip(on_npu: bool) -> str:
    """The chip kernels are compiled for, on both sides. BuildError without a device to run on."""
    from tile_runtime.devices.choose_device import chip_name, npu_problem

    problem = npu_problem() if on_npu else None
    if problem is not None:
        raise BuildError(
            "no-npu", f"--device npu needs an NPU, but {problem}",
            hint="`tile-ascend doctor` says what is missing; --device sim needs none",
        )  # fmt: skip
    with override(target="npu" if on_npu else "sim"):
        return chip_name()


def _row_line(row: Any, width: int) -> str:
    error = "" if row.error is None else f"{row.error:.2g}"
    times = _us(row.modelled), _us(row.measured)
    return _line(row.name, width, row.verdict, error, *times, row.detail)


def _line(
    name: str, width: int, verdict: str, error: str, modelled: str, measured: str, detail: str
) -> str:
    numbers = f"{error:>6}  {modelled:>10}  {measured:>10}"
    return f"{name:<{width}}  {verdict:<7}  {numbers}  {detail}".rstrip()


def _us(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:.2f} us"
