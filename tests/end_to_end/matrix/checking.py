"""Runs cases from one translation unit, and through the interpreter, and says what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_ir.dtypes import from_bytes, to_bytes

from ..kernel_batch import KernelBatch, interpreted
from ..ulps import largest_distance
from .cases import Case
from .programs import arguments, call_line, kernel_text, load_module, operand_values
from .references import REFERENCES


@dataclass
class Tally:
    """What became of the cases: computed, refused at compile time (by slug), or wrong."""

    computed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def run_cases(cases: Sequence[Case], folder: Path) -> Tally:
    """Trace, compile and run all cases; checks are those of the device."""
    tally = Tally()
    texts = [kernel_text(case, f"k{i}") for i, case in enumerate(cases)]
    module = load_module(folder, "matrix_kernels", texts)
    batch = KernelBatch(folder)
    listed: list[tuple[int, Func, Case]] = []
    for i, case in enumerate(cases):
        function = getattr(module, f"k{i}")
        try:
            func = T.prim_func(function)
            batch.add(func)
            listed.append((i, func, case))
        except KernelError as error:
            _judge_refusal(case, error, function.__code__.co_firstlineno, tally)
    batch.build()
    for number, (seed, func, case) in enumerate(listed):
        given = arguments(case, seed)
        outcome = batch.run(number, given)
        if outcome.error is not None:
            problem: str | None = f"{outcome.error.kind}: {outcome.error.text}"
        else:
            problem = _compare(case, given, outcome.arrays)
        told = _compare(case, given, interpreted(func, given))
        if problem or told:
            by = "simulator: " if problem else "interpreter: "
            tally.wrong.append(f"{case.name}: {by}{problem or told}")
        else:
            tally.computed += 1
    return tally


def _judge_refusal(case: Case, error: KernelError, first_line: int, tally: Tally) -> None:
    at_call = error.loc is not None and error.loc.line == first_line + call_line(case)
    if error.slug in case.refused and at_call:
        tally.refused[error.slug] += 1
    else:
        tally.wrong.append(f"{case.name}: refused [{error.slug}] {error.message} at {error.loc}")


def _compare(case: Case, given: Sequence[Any], got: Sequence[Any]) -> str | None:
    """Every byte of every buffer: the destination's region by the reference, the rest unchanged."""
    reference = REFERENCES[case.op.name]
    with np.errstate(all="ignore"):
        values = reference.fn(*operand_values(case, given))
    want = [a.copy() for a in given if isinstance(a, np.ndarray)]
    destination = case.forms[0]
    assert destination is not None, "a destination is a region"
    want[0].reshape(-1)[destination.flat_index()[: case.count]] = to_bytes(values, case.dtype)
    for i, (array, expected) in enumerate(zip(got, want, strict=False)):
        allowed = reference.ulps if i == 0 else 0
        if not case.dtype.is_float or case.dtype.bits > 32:
            if not np.array_equal(array, expected):
                return f"operand {i} differs"
            continue
        if reference.smallest and i == 0:
            a, b = (from_bytes(x, case.dtype).astype(np.float64) for x in (array, expected))
            with np.errstate(invalid="ignore"):
                close = np.abs(a - b) <= reference.smallest[case.dtype.size]
            array = np.where(close, expected, array)
        distance = largest_distance(array, expected, case.dtype)
        if distance > allowed:
            return f"operand {i} differs by {distance} ulp, {allowed} allowed"
    return None
