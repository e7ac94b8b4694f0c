"""Run a program as it is and with changes, on the same inputs: is the result the same, and how long
does it take by the model?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override
from tile_runtime.cache.fingerprint import digest_of
from tile_runtime.tuning.advice.placeless_text import placeless_text
from tile_runtime.tuning.advice.program import Program
from tile_runtime.tuning.run_apart import outcome_apart
from tile_runtime.tuning.trial import REFUSED, RIGHT, WRONG, TrialOutcome, failed

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

# How far results may be from those of the program as it is: sums in another order differ by
# roundings, and what is rounded to whole numbers then differs by one in some places.
_TOLERANCE = 2e-2
_MISMATCHED = 1e-3
# A changed program may take so many seconds to compile and run.
_SECONDS = 600.0
# What a change is refused for that the compiler makes the same kernel with.
SAME = "same-kernel"
# All is looked at: what leaves results unwritten must not pass for what writes them.
_SWITCHES = {"time": True, "check": "strict"}
Makes = Callable[[Program], "JITKernel"]


@dataclass(frozen=True, slots=True)
class Case:
    """A file with the inputs of a call, what it returned, and the arguments after it; and what
    stands for the kernel that was called."""

    path: str
    kernel: str

    def trials(self, make: Makes, apart: bool) -> Callable[[Sequence[Program]], list[TrialOutcome]]:
        """Return a function that tries programs on this case, in processes of their own or in this
        one."""
        if not apart:
            return lambda programs: [run_program(make, p, self, {}) for p in programs]
        return partial(_run_all, make, self)


def save_case(
    path: Path, kernel: JITKernel, inputs: Sequence[Any], results: Any, after: Sequence[Any]
) -> Case:
    """Write a case of a kernel; `inputs` are as they were before the call."""
    import torch

    torch.save({"inputs": list(inputs), "expected": [*_listed(results), *after]}, path)
    return Case(str(path), _identity(kernel))


def copied(inputs: Sequence[Any]) -> list[Any]:
    """Inputs that a call does not write."""
    return [x.detach().clone() if hasattr(x, "detach") else x for x in inputs]


def run_program(
    make: Makes, program: Program, case: Case, switches: Mapping[str, Any]
) -> TrialOutcome:
    """Make the kernel of a program, run it, and compare; the time is that on the device."""
    import torch

    from tile_runtime.jit_kernels.profiler import assert_mostly_close

    started = time.perf_counter()
    with override(**{**_SWITCHES, **switches}):
        try:
            kernel = make(program)
        except (TileError, AssertionError, ValueError, TypeError) as error:
            return failed(REFUSED, error, started)
        if _identity(kernel) == case.kernel:
            return TrialOutcome(REFUSED, None, "the compiler makes the same kernel", SAME)
        saved = torch.load(case.path, weights_only=True)
        try:
            results = _listed(kernel(*saved["inputs"]))
            timeline = kernel.timeline()
            found = [*results, *saved["inputs"]]
            for ours, theirs in zip(found, saved["expected"], strict=True):
                if hasattr(theirs, "detach"):
                    assert_mostly_close(ours, theirs, _TOLERANCE, _room(theirs), _MISMATCHED)
        except (TileError, AssertionError, ValueError) as error:
            return failed(WRONG, error, started)
    if timeline is None:
        return TrialOutcome(REFUSED, None, "it does not run on the simulator")
    seconds = time.perf_counter() - started
    return TrialOutcome(RIGHT, timeline.microseconds / 1e3, seconds=seconds)


def _identity(kernel: JITKernel) -> str:
    """Equal for kernels that do the same, whatever was left to the compiler on the way there."""
    lines = [line for line in placeless_text(kernel.lowered) if not line.startswith("func ")]
    return digest_of("\n".join(lines))


def _room(expected: Any) -> float:
    """How far apart two values may be whatever their size: by one for whole numbers that are
    quantised, by the size of the others for the rest."""
    if not expected.dtype.is_floating_point:
        return 1.0 if expected.element_size() == 1 else 0.0
    finite = expected.double()
    finite = finite[finite.isfinite()]
    return _TOLERANCE * float(finite.abs().mean()) if finite.numel() else 0.0


def _run_all(make: Makes, case: Case, programs: Sequence[Program]) -> list[TrialOutcome]:
    """Each in another process, as many at a time as there are cores; in this one where a fence lets
    it start none."""
    switches = {"threads": 1}
    jobs = [partial(run_program, make, program, case, switches) for program in programs]
    try:
        with ThreadPoolExecutor(max(min(os.cpu_count() or 1, len(jobs)), 1)) as pool:
            return list(pool.map(lambda job: outcome_apart(job, _SECONDS), jobs))
    except PermissionError:
        return [job() for job in jobs]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
