"""The quick part of the matrix; `make matrix-programs` runs more. Each mistake planted in lowering is
noticed by the quick part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kept_cases import kept_number

from .matrix import MatrixTally, run_cases
from .matrix_cases import Case, all_cases, chosen
from .mutations import MUTATIONS

QUICK = 600
# Each form once, and some twice.
FEWEST = 380
PARTS = 4
# Cases that are run before a planted mistake is looked for among them.
LOOKED = 150


def quick() -> list[Case]:
    return chosen(max(FEWEST, kept_number(QUICK)))


def quick_part(number: int) -> list[Case]:
    return quick()[number::PARTS]


def told(tally: MatrixTally) -> str:
    return "\n".join(f"{o.name}: {c.name}: {o.message[:200]}" for c, o in tally.wrong[:20])


def test_the_quick_part_has_every_form() -> None:
    forms = {(c.direction, c.form) for c in all_cases()}
    assert {(c.direction, c.form) for c in quick()} == forms


@pytest.mark.whole
@pytest.mark.parametrize("number", range(PARTS))
def test_matrix(number: int) -> None:
    tally = run_cases(quick_part(number))
    assert not tally.wrong, told(tally)


@pytest.fixture(scope="module")
def right_cases() -> list[Case]:
    """The quick part without what is wrong anyhow."""
    cases = quick()
    wrong = {case for case, _ in run_cases(cases).wrong}
    return [case for case in cases if case not in wrong]


def parts(cases: list[Case]) -> Iterator[list[Case]]:
    for first in range(0, len(cases), LOOKED):
        yield cases[first : first + LOOKED]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", MUTATIONS)
def test_a_mistake_in_lowering_is_noticed(
    mistake: str, right_cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    MUTATIONS[mistake](monkeypatch)
    assert any(run_cases(part, blame=False).wrong for part in parts(right_cases))
