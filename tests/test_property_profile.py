"""Tests of properties are the same at every run: one profile, in conftest.py, says how they draw."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import settings
from kept_cases import PROPERTIES

TESTS = Path(__file__).parent


@pytest.mark.skipif(PROPERTIES in os.environ, reason="at night examples are drawn at random")
def test_the_same_examples_are_drawn_at_every_run() -> None:
    assert settings.default is not None
    assert settings.default.derandomize
    assert settings.default.database is None
    assert settings.default.deadline is None


def test_no_test_chooses_for_itself() -> None:
    """And every number of examples grows at night."""
    own = re.compile(r"\b(deadline|derandomize)=|max_examples=(?!examples\()")
    here = {TESTS / "conftest.py", Path(__file__)}
    assert [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in here
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if own.search(line)
    ] == []
