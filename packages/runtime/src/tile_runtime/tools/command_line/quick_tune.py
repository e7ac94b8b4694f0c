"""`tile-ascend tune --quick`: follow the advice of a report step by step until nothing helps."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tile_runtime.tools.command_line.advised_run import advised_call
from tile_runtime.tools.command_line.kernel_argument import parse_arguments
from tile_runtime.tools.command_line.kernel_program import kernel_program, program_kernel
from tile_runtime.tools.command_line.kernel_run import made_kernel, run_arguments
from tile_runtime.tools.report.number_text import microseconds
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict
from tile_runtime.tuning.advice.program import difference

# A walk that goes on and on is not worth waiting for.
_MOST_STEPS = 10


def quick_tune(name: str, options: argparse.Namespace) -> Iterator[str]:
    """The steps, each with its time, and what to paste in the end. Raises what it does."""
    first = program = kernel_program(name, parse_arguments(options.arg))
    kernel = made_kernel(name, options)
    begin = 0.0
    for step in range(_MOST_STEPS + 1):
        timed, advice = advised_call(
            kernel, program, run_arguments(kernel, options), options, options.tries
        )
        begin = begin or advice.before
        found = verdict(Measures(timed))
        yield f"step {step}: {microseconds(advice.before)}. {found.what}."
        yield f"  {'do: ' if advice.best else ''}{found.do}"
        if advice.best is None or step == _MOST_STEPS:
            break
        program = advice.best.program
        kernel = program_kernel(program)
    yield f"{microseconds(begin)} -> {microseconds(advice.before)} ({begin / advice.before:.2f}x)"
    yield from difference(first, program)
