"""Follow the advice of a report on a slow kernel, and measure: what it predicts and what comes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from end_to_end.slow_kernels.corpus import Slow
from tile_ir import KernelWarning
from tile_ir.switches import override
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.scripts.module import load_script
from tile_runtime.tools.command_line.advised_run import advice_on, with_advice
from tile_runtime.tools.command_line.kernel_program import kernel_program, program_kernel
from tile_runtime.tools.report.roofline import roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import Verdict, verdict
from tile_runtime.tuning.advice.program import Program


@dataclass(frozen=True)
class Followed:
    """Modelled microseconds of a kernel as it is, as the advice predicts, and of a run of the
    changed text; both are those before where nothing is advised. Shares are of the roofline."""

    name: str
    before: float
    predicted: float
    measured: float
    shares: tuple[float, float]
    verdict: Verdict
    tried: int

    @property
    def gain(self) -> float:
        return self.before / self.measured


def follow_advice(
    slow: Slow, sizes: Mapping[str, int], tries: int, apart: bool = False
) -> Followed:
    """The advice on a kernel, followed once; results are those of the reference all the way. Trials
    that run `apart` take all cores of the host."""
    program = kernel_program(slow.source, dict(sizes))
    kernel = program_kernel(program)
    whole = {**_defaults(program), **sizes}
    timed, inputs, results, after = _run(slow, kernel, whole)
    advice = advice_on(timed, program, kernel, inputs, results, after, tries, apart)
    found = verdict(Measures(with_advice(timed, advice)))
    predicted, changed = advice.before, timed
    if advice.best is not None:
        predicted = advice.best.microseconds or 0.0
        changed, *_ = _run(slow, program_kernel(advice.best.program), whole)
    shares = roofline(timed).share, roofline(changed).share
    return Followed(
        slow.name, advice.before, predicted, changed.timeline.microseconds, shares, found,
        len(advice.tried),
    )  # fmt: skip


def _run(
    slow: Slow, kernel: JITKernel, sizes: Mapping[str, int]
) -> tuple[TimedRun, list[Any], Any, list[Any]]:
    """A run with the clock on, checked: inputs, what it returned, and the inputs after it."""
    seen: list[TimedRun] = []
    inputs, after = slow.inputs(kernel, sizes), slow.inputs(kernel, sizes)
    with override(time=True), watch_timed_runs(seen.append), warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        results = kernel(*after)
    expected = slow.meaning(*inputs)
    ours = results if isinstance(results, (list, tuple)) else [results]
    for a, b in zip(ours, expected if isinstance(expected, tuple) else [expected], strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=1e-2, atol=2e-2)
    return seen[-1], inputs, results, after


def _defaults(program: Program) -> dict[str, int]:
    """The sizes a factory takes unless it is told others."""
    factory = getattr(load_script(Path(program.script)), program.kernel)
    return {name: p.default for name, p in inspect.signature(factory).parameters.items()}
