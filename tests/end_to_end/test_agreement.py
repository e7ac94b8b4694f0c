"""Interpreter and simulator agree: bit for bit where nothing rounds, else within an ulp.

Casts, broadcasts and reductions; what goes element by element is in the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from kept_cases import kept

from .kernel_batch import KernelBatch, interpreted
from .op_kernels import (
    Case,
    broadcast_cases,
    cast_cases,
    reduction_cases,
)
from .ulps import largest_distance


def failures(cases: Iterable[Case], folder: Path) -> tuple[int, list[str]]:
    batch = KernelBatch(folder)
    listed = [(batch.add(case.func), case) for case in cases]
    batch.build()
    wrong = []
    for number, case in listed:
        outcome = batch.run(number, case.arrays)
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        for array, want, tensor in zip(
            outcome.arrays, interpreted(case.func, case.arrays), case.func.tensors, strict=True
        ):
            if tensor.dtype.is_float and tensor.dtype.bits <= 32:
                distance = largest_distance(array, want, tensor.dtype)
            else:
                distance = 0 if np.array_equal(array, want) else 1 << 40
            if distance > 0:
                wrong.append(f"{case.name}: {tensor.name} differs by {distance} ulp")
    return len(listed), wrong


@pytest.mark.parametrize(
    ("cases", "least"),
    [(cast_cases, 60), (broadcast_cases, 50)],
    ids=["cast", "broadcast"],
)
def test_operations_agree(cases: Callable[[], Iterator[Case]], least: int, tmp_path: Path) -> None:
    listed = list(cases())
    assert len(listed) >= least
    count, wrong = failures(kept(listed), tmp_path)
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:30])


def finite(case: Case) -> Case:
    """Sums of huge and infinite values say nothing about the order of additions."""
    for array, tensor in zip(case.arrays, case.func.tensors, strict=True):
        values = array.view(tensor.dtype.storage)
        values[~np.isfinite(values) | (np.abs(values) > 1e3)] = 0.5
    return case


def test_reductions_agree(tmp_path: Path) -> None:
    """Maxima and minima exactly; sums within one rounding of each addition."""
    cases = [c if c.func.name != "reduce_sum" else finite(c) for c in kept(reduction_cases())]
    batch = KernelBatch(tmp_path)
    numbers = [batch.add(case.func) for case in cases]
    batch.build()
    wrong = []
    for number, case in zip(numbers, cases, strict=True):
        outcome = batch.run(number, case.arrays)
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        got, want = outcome.arrays[1], interpreted(case.func, case.arrays)[1]
        if case.func.name == "reduce_sum":
            source = np.abs(case.arrays[0].astype(np.float64))
            additions = sum(case.arrays[0].shape)
            step = float(np.finfo(np.float32).eps) * additions * source.sum(axis=None)
            final = float(np.finfo(got.dtype).eps) * np.abs(want.astype(np.float64)) * 2
            error = np.abs(got.astype(np.float64) - want.astype(np.float64))
            if not (error <= step + final).all():
                wrong.append(f"{case.name}: off by {error.max()}")
        elif largest_distance(got, want, case.dtype):
            wrong.append(f"{case.name}: differs")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:30])
