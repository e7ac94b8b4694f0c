"""The table of cases and published.csv fit each other and the kernels."""

from __future__ import annotations

from collections import Counter

import cases
import pytest
import timing_kernels
from case import Case, published
from measures import Unit

ALL = cases.cases()


def test_every_published_row_belongs_to_one_case() -> None:
    counted = Counter(row for case in ALL for row, _ in cases.rows_of_case(case))
    assert set(counted.values()) == {1}
    assert set(counted) == set(published())


def test_there_are_rows_enough_of_every_kind() -> None:
    assert len(published()) >= 40
    assert len({case.name for case in ALL}) == len(ALL)
    assert {case.kernel for case in ALL} | {"empty_mix"} == set(timing_kernels.kernels())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_measures_have_the_published_unit(case: Case) -> None:
    for row, measure in cases.rows_of_case(case):
        assert measure.unit is Unit(row.unit), row


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_arguments_fit_the_kernel(case: Case) -> None:
    given = case.arguments()
    parameters = timing_kernels.kernels()[case.kernel].parameters
    assert [hasattr(value, "nbytes") for value in given] == [t == "GM_ADDR" for t, _ in parameters]
