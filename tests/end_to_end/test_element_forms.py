"""The generated matrix of element statements that read or write in another order: each is what NumPy
makes of the same text, at strict, and no scalar loop where an instruction does it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic
from tile_ir.costs.timing import timing_of

from .kernel_batch import KernelBatch
from .matrix.element_forms import Case, arguments, cases, expected, kernel_text
from .matrix.programs import load_module

AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY, Automatic.CROSS, Automatic.CORES)
STRICT = 2
CHUNK = 32
CASES = kept(cases(), least=CHUNK)
CHUNKS = [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)]


def test_the_matrix_has_two_hundred_cases() -> None:
    assert len(list(cases())) >= 200


@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda c: c[0].name)
def test_element_forms(chunk: list[Case], tmp_path: Path) -> None:
    texts = [kernel_text(case, f"k{i}") for i, case in enumerate(chunk)]
    module = load_module(tmp_path, "element_forms", texts)
    batch = KernelBatch(tmp_path)
    for i in range(len(chunk)):
        batch.add(T.prim_func(getattr(module, f"k{i}")), AUTOMATIC)
    batch.build()
    wrong = []
    for number, case in enumerate(chunk):
        given = arguments(case, number)
        outcome = batch.run(number, given, checks=STRICT, timing=timing_of(DEFAULT_TARGET))
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        for array, want in zip(outcome.arrays, expected(case, given), strict=True):
            if not np.array_equal(array.reshape(want.shape), want):
                wrong.append(f"{case.name}: it differs from NumPy")
        slow = [r for r in batch.funcs[number].remarks if r.slug == "scalar-loop"]
        if slow and not case.may_be_scalar:
            wrong.append(f"{case.name}: {slow[0].message}")
    assert not wrong, "\n".join(wrong)
