"""A mistake in an example of many devices is told by its name in every schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from .broken_examples import BROKEN
from .example_cases import case_of
from .rank_cases import fault, load, schedules


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_told_in_every_schedule(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]
    case = case_of(broken.example, broken.ranks, 1)
    kernel = case.kernel(load(case.script, tmp_path, *broken.edits))
    told = {}
    for schedule in schedules():
        error = fault(case, kernel, *schedule)
        told.setdefault((error and error.slug, error and error.loc), []).append(schedule)
        if error is not None:
            assert all(word in str(error) for word in broken.words), error
    assert {slug for slug, _ in told} == {broken.slug}, told
    assert len(told) <= broken.places, told
