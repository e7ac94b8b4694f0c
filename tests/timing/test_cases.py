"""The table of cases and published.csv fit each other and the kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import cases
import pytest
import timing_kernels
import unmodelled
from case import Case, published
from fixed_constants import CALIBRATING, FIXED_BY, OTHERWISE, RATES
from measures import Unit

from tile_ir.costs.timing import TimingTable

ALL = cases.cases()


def test_every_published_row_has_one_case_or_one_reason() -> None:
    counted = Counter(row for case in ALL for row, _ in cases.rows_of_case(case))
    assert set(counted.values()) == {1}
    for row in published():
        assert counted[row] + len(unmodelled.reasons(row)) == 1, row
    assert not unmodelled.unused(published())


def test_every_constant_is_fixed_by_rows_or_has_another_source() -> None:
    constants = [field.name for field in fields(TimingTable)]
    assert sorted([*FIXED_BY, *OTHERWISE]) == sorted(constants)
    of_cases = {(case.name, row.metric) for case in ALL for row, _ in cases.rows_of_case(case)}
    fixing = {row for rows in (FIXED_BY | RATES).values() for row in rows}
    assert fixing <= of_cases
    of_pages = {
        row.source
        for case in ALL
        for row, _ in cases.rows_of_case(case)
        if (case.name, row.metric) in fixing
    }
    assert of_pages == CALIBRATING


def test_there_are_rows_enough_of_every_kind() -> None:
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
