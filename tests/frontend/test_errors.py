"""Every mistake in `errors/*.py` is reported with exactly the message, line and column its comment
names (`expected_errors`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from expected_errors import Case, cases, module_of

from tile_ir import KernelError

FOLDER = Path(__file__).parent / "errors"
ALL = list(cases(*sorted(FOLDER.glob("*.py"))))


@pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c.file.stem}-{c.name}")
@pytest.mark.whole
def test_the_error_is_exactly_this(case: Case) -> None:
    with pytest.raises(KernelError) as caught:
        getattr(module_of(case.file), case.name)()
    case.check(caught.value)
    error = caught.value
    assert error.__traceback__ is None or "tile_frontend/_evaluate/statements" not in str(error)


def test_every_case_function_has_an_expectation() -> None:
    names = {(c.file.stem, c.name) for c in ALL}
    for file in FOLDER.glob("*.py"):
        for name in re.findall(r"^def (\w+)\(", file.read_text(), re.M):
            assert name.startswith("_") or (file.stem, name) in names, f"{file.stem}.{name}"


def test_every_error_says_what_to_write_instead() -> None:
    """In its hint, or behind `expected` in its message. What Python itself or the author's own
    `assert` says is passed on as it is."""
    passed_on = ("python-error", "assertion")
    for case in ALL:
        assert case.hint or "expected" in case.message or case.slug in passed_on, case
