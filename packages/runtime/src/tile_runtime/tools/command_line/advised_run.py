"""A timed run with the changes that were tried on it, and what they give."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir.quick_dataclasses import replace
from tile_runtime.tools.command_line.kernel_program import changes_of, program_kernel
from tile_runtime.tools.command_line.kernel_run import timed_call
from tile_runtime.tools.report.kernel_facts import TriedChange
from tile_runtime.tools.report.timed_run import TimedRun
from tile_runtime.tools.report.why.likely_changes import likely_changes
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict
from tile_runtime.tuning.advice.advise import Advice, Tried, advise
from tile_runtime.tuning.advice.program import Program, difference
from tile_runtime.tuning.advice.program_trial import SAME, copied, save_case

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel


def advice_on(
    timed: TimedRun,
    program: Program,
    kernel: JITKernel,
    inputs: Sequence[Any],
    results: Any,
    after: Sequence[Any],
    most: int,
    apart: bool = True,
) -> Advice:
    """Try at most `most` changes of a program. The run is that of its kernel as it is,
    on such inputs, with such results, and with the arguments as they were after it."""
    likely = likely_changes(verdict(Measures(timed)).bound)
    with tempfile.TemporaryDirectory(prefix="tile-ascend-") as folder:
        case = save_case(Path(folder) / "case.pt", kernel, inputs, results, after)
        return advise(
            program,
            timed.timeline.microseconds,
            lambda changed: changes_of(changed, likely),
            case.trials(program_kernel, apart),
            most,
        )


def advised_call(
    kernel: JITKernel,
    program: Program,
    arguments: list[Any],
    options: argparse.Namespace,
    most: int,
) -> tuple[TimedRun, Advice]:
    """One call with the clock on, and what at most so many changes would give."""
    inputs = copied(arguments)
    timed, results = timed_call(kernel, arguments, options)
    advice = advice_on(timed, program, kernel, inputs, results, arguments, most)
    return with_advice(timed, advice), advice


def with_advice(timed: TimedRun, advice: Advice) -> TimedRun:
    """The run with the tried changes among its facts."""
    order = sorted(
        (t for t in advice.tried if t.slug != SAME),
        key=lambda t: (t is not advice.best, t.microseconds or float("inf")),
    )
    tried = tuple(_as_fact(advice, one) for one in order)
    return replace(timed, facts=replace(timed.facts, tried=tried))


def _as_fact(advice: Advice, tried: Tried) -> TriedChange:
    problem = tried.problem.splitlines()[0] if tried.problem else ""
    advised = tried is advice.best
    paste = tuple(difference(advice.program, tried.program)) if advised else ()
    return TriedChange(
        tried.says, advice.before, tried.microseconds or 0.0, problem, advised, paste
    )
