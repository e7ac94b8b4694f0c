"""The errors that stand beside modelled times are those of docs/hardware/time_model.md, of the regime a launch belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import cases
from modelled import run_case
from regimes import REGIMES

from tile_runtime.simulator.time_error import MEDIAN_ERRORS, error_bar, modelled_text

PAGE = Path(__file__).parents[2] / "docs/hardware/time_model.md"


def published_errors() -> dict[str, float]:
    """Medians as the page has them, by the words of the regimes; the empty one is that of checks."""
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \(\w\) (.+?) \| \d+ \| ([\d.]+)% \|$", page, re.M)
    (check,) = re.findall(r"^\| check: all other pages \| \d+ \| ([\d.]+)%", page, re.M)
    return {"": float(check) / 100, **{name: float(error) / 100 for name, error in rows}}


def test_errors_are_those_of_the_page() -> None:
    published = published_errors()
    assert set(MEDIAN_ERRORS) <= {"", *REGIMES.values()}
    for regime, error in MEDIAN_ERRORS.items():
        assert error == pytest.approx(published[regime], abs=0.0051), regime


@pytest.mark.parametrize(("name", "regime"), [
    ("int8 128x256x1024", "launch and start of small kernels"),
    ("an element through V", "copies of single elements"),
    ("1000 of 1024 in 2304 rows, f32", "rows of GM that are not whole lines of 512 B"),
    ("read unaligned rows to UB", "rows of GM that are not whole lines of 512 B"),
    ("read 64x1024 to UB", ""),
])  # fmt: skip
def test_a_launch_belongs_to_a_regime(name: str, regime: str) -> None:
    (case,) = [case for case in cases() if case.name == name]
    timeline = run_case(case, case.blocks)
    assert error_bar(timeline).regime == regime
    assert f"within {MEDIAN_ERRORS[regime]:.0%}" in modelled_text(timeline)
