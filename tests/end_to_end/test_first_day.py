"""What is said about the mistakes of a first day: the exact text, line and column of `first_day`."""

from __future__ import annotations

from pathlib import Path

import pytest
from expected_errors import Case, cases, module_of

from tile_ir import TileError

FILE = Path(__file__).with_name("first_day.py")
ALL = list(cases(FILE))


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.name)
def test_the_error_is_exactly_this(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # Places are shown as from the folder of the file.
    monkeypatch.chdir(FILE.parent)
    with pytest.raises(TileError) as caught:
        getattr(module_of(case.file), case.name)()
    case.check(caught.value)


def test_every_program_has_its_error_and_there_are_enough() -> None:
    programs = [line for line in FILE.read_text().splitlines() if line.startswith("def ")]
    assert len(ALL) == len(programs) >= 30
