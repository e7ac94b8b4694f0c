"""Every line of the checklist of many devices has tests that exist, or says what is missing."""

from __future__ import annotations

import pytest

from ..test_checklist import functions_in
from .checklist_of_ranks import LINES


def test_no_number_is_missing() -> None:
    assert list(LINES) == list(range(1, 45))


@pytest.mark.whole
@pytest.mark.parametrize("number", LINES)
def test_what_shows_a_line_exists(number: int) -> None:
    line = LINES[number]
    assert line.says and (line.shown or line.open)
    assert len(set(line.shown)) == len(line.shown)
    for place in line.shown:
        file, _, name = place.partition("::")
        assert name in functions_in(file), place
