"""Print the table of the self-test: a line for each case, with its verdict and times."""

from __future__ import annotations

from pathlib import Path

from selftest.run_cases import CaseRow, find_cases, run_cases
from tile_ir import BuildError
from tile_ir.switches import override
from tile_runtime.devices.choose_device import chip_name, npu_problem


def print_table(sources: Path, pattern: str, on_npu: bool) -> int:
    """Run the cases of a checkout whose names fit a pattern; 1 if one is wrong."""
    chip = _chip(on_npu)
    cases = find_cases(sources, pattern)
    width = max(len(case.name) for case in cases)
    rows = []
    with override(soc=chip):
        print(f"{len(cases)} cases on {'the NPU and ' if on_npu else ''}the simulator of {chip}")
        print(_line("case", width, "", "error", "modelled", "measured", ""))
        for row in run_cases(cases, on_npu):
            rows.append(row)
            print(_row_line(row, width), flush=True)
    wrong = sum(row.wrong for row in rows)
    left = sum(row.verdict == "not run" for row in rows)
    print(f"{len(rows) - wrong - left} ok, {wrong} wrong, {left} not run")
    return int(wrong > 0)


def require_npu() -> None:
    """BuildError where there is none."""
    problem = npu_problem()
    if problem is not None:
        raise BuildError(
            "no-npu", f"--device npu needs an NPU, but {problem}",
            hint="`tile-ascend doctor` says what is missing; --device sim needs none",
        )  # fmt: skip


def _chip(on_npu: bool) -> str:
    """The chip kernels are compiled for, on both sides. BuildError without a device to run on."""
    if on_npu:
        require_npu()
    with override(target="npu" if on_npu else "sim"):
        return chip_name()


def _row_line(row: CaseRow, width: int) -> str:
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
