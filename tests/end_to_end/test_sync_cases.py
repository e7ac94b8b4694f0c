"""Automatic synchronisation of the kernels of sync_cases.py: no fault at `strict`, and what NumPy and
the interpreter say, for trip counts that skip loops, end in every slot, and go round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_kernels import AUTOMATIC_SYNC
from kept_cases import running

from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted
from .sync_cases import CASES

TRIPS = (0, 1, 2, 3, 7)
# The kernels, and the number of each by the name of its case and its trips, if it knows them.
Batch = tuple[KernelBatch, dict[tuple[str, int | None], int]]
# Which core goes first must not matter.
SCHEDULES = [
    {"seed": seed, "starved": starved} for seed, starved in ((0, 0), (1, 1), (2, 2), (3, 3))
]


@pytest.fixture(scope="module")
def batch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    made = KernelBatch(tmp_path_factory.mktemp("sync"))
    numbers = {
        (name, rounds): made.add(CASES[name].make(rounds), AUTOMATIC_SYNC)
        for name in sorted(running(request, "name"))
        for rounds in (None, *TRIPS)
    }
    made.build()
    return made, numbers


@pytest.mark.parametrize("known", [True, False], ids=["constant", "runtime"])
@pytest.mark.parametrize("rounds", TRIPS)
@pytest.mark.parametrize("name", CASES)
def test_case(
    name: str, rounds: int, known: bool, batch: Batch, request: pytest.FixtureRequest
) -> None:
    case = CASES[name]
    if case.missing and rounds:
        request.applymarker(pytest.mark.xfail(reason=case.missing, strict=True))
    made, numbers = batch
    number = numbers[name, rounds if known else None]
    arguments = case.arguments(rounds)
    want = case.expected(*case.inputs, rounds)
    results = slice(len(case.inputs), len(case.inputs) + len(want))
    reference = interpreted(case.make(rounds if known else None), arguments)[results]
    for got, expected in zip(reference, want, strict=True):
        np.testing.assert_array_equal(got, expected, err_msg="interpreted")
    for schedule in SCHEDULES:
        outcome = made.run(number, arguments, checks=launcher().CHECKS_STRICT, **schedule)
        assert outcome.error is None, (schedule, outcome.error.text)
        for got, expected in zip(outcome.arrays[results], want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=str(schedule))


def test_without_it_every_case_is_wrong(tmp_path: Path) -> None:
    """Else it would test nothing; what has to share bytes does not even fit."""
    bare = KernelBatch(tmp_path)
    names = [n for n in CASES if n != "more_than_ub_holds"]
    for name in names:
        bare.add(CASES[name].make(None))
    bare.build()
    faults = {
        name: bare.run(i, CASES[name].arguments(7), checks=launcher().CHECKS_STRICT).error
        for i, name in enumerate(names)
    }
    assert not [name for name, fault in faults.items() if fault is None]
