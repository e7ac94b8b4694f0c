"""Try changes of a candidate for the advice: a job that executes the candidate and the compiler.

Its process is as isolated as the others, but may start programs. Its messages are advice only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tile_ir import KernelError, TileError
from tile_ir.switches import override
from tile_runtime.jit_kernels.quick_compiler import quick_compiler
from tile_runtime.tools.command_line.advised_run import advice_on, with_advice
from tile_runtime.tools.command_line.kernel_program import program_kernel
from tile_runtime.tools.judge.case_inputs import input_recipe, make_inputs, symbols_of
from tile_runtime.tools.judge.run_kernel import advice_data
from tile_runtime.tools.judge.sizes import symbol_cases
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tuning.advice.program import Program
from tile_runtime.tuning.advice.program_trial import copied


def try_changes(request: dict[str, Any], data: bytes, send: Callable[..., None]) -> None:
    """Send `advice` with all changes that were tried, or `no-advice` with the problem."""
    program = Program(
        request["file"], request["text"], request["kernel"], tuple(request["arguments"].items())
    )
    switches = {
        "cache": False, "check": "strict", "target": "sim", "threads": 1, "time": True,
        "cxx": quick_compiler()[0],
    }  # fmt: skip
    try:
        with override(**switches), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            send({"event": "advice", **_advice(program, request["most"])})
    except TileError as error:
        send({"event": "no-advice", "problem": f"{error.slug}: {error.message}"[:500]})


def _advice(program: Program, most: int) -> dict[str, Any]:
    kernel = program_kernel(program)
    (case,) = symbol_cases(symbols_of(kernel), [], False, 0, 0)
    recipe = input_recipe(kernel, case.named)
    arguments = make_inputs(recipe, 0)
    inputs = copied(arguments)
    runs: list[TimedRun] = []
    with watch_timed_runs(runs.append):
        results = kernel(*arguments)
    if len(runs) != 1:
        raise KernelError(
            "several-launches", f"`{kernel.name}` has {len(runs)} launches, and changes are of one"
        )
    found = advice_on(runs[0], program, kernel, inputs, results, arguments, most, apart=False)
    tried = [
        {
            "change": one.says,
            "microseconds": one.microseconds,
            "problem": one.problem.partition("\n")[0],
            "best": one is found.best,
        }
        for one in found.tried
    ]
    return {**advice_data(with_advice(runs[0], found)), "tried": tried}
