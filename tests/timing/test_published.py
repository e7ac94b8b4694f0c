"""The time model against published measurements, over the cases that run in seconds."""

from __future__ import annotations

from cases import cases
from compare import table
from kept_cases import kept
from modelled import compare, median_error, rank_correlation
from regimes import LIMIT, regime_errors


def test_model_agrees_with_published_measurements() -> None:
    quick = [case for case in cases() if not case.full]
    assert sum(len(case.rows) for case in quick) >= 40
    rows = list(compare(kept(quick, least=20)))
    print(table(rows))  # which needs a reason for every row that is missed by much
    assert median_error(rows) <= 0.20
    rank = rank_correlation(rows)
    assert rank is not None and rank >= 0.9


def test_no_regime_is_off_in_the_median() -> None:
    rows = list(compare(case for case in cases() if case.regime and not case.full))
    assert {letter: e for letter, e in regime_errors(rows).items() if e > LIMIT} == {}
