"""Programs that once failed, made small by the campaign, and a few that stand for a kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kept_cases import running

from .batch import Outcome, run_programs
from .campaign import FOUND
from .program import Program

FILES = sorted(FOUND.glob("*.txt"))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[Path, Outcome]:
    """All that this process looks at, compiled together."""
    files = sorted(running(request, "file"))
    found = run_programs([Program.read(file.read_text()) for file in files])
    return dict(zip(files, found, strict=True))


@pytest.mark.whole
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_found(file: Any, outcomes: dict[Path, Outcome]) -> None:
    outcome = outcomes[file]
    assert outcome.kind in ("same", "refused"), (
        f"{outcome.name}: {outcome.message}\n{file.read_text()}"
    )
