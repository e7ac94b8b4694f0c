"""What a report advises on slow kernels is applied and measured: it makes none slower, and comes as
predicted."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from end_to_end.slow_kernels.corpus import CORPUS
from end_to_end.slow_kernels.follow_advice import follow_advice

pytestmark = pytest.mark.usefixtures("quick_kernels")

# A prediction is right within this.
NEAR = 0.15
# How many changes a report tries, and in a quick run.
TRIES, FEW = 12, 3


def check(name: str, sizes: Mapping[str, int], tries: int) -> float:
    found = follow_advice(CORPUS[name], sizes, tries)
    assert found.measured <= found.before, found.verdict.do
    assert abs(found.measured / found.predicted - 1) <= NEAR, found.verdict.do
    assert found.gain == 1 or "predicted" in found.verdict.do
    return found.gain


@pytest.mark.whole
@pytest.mark.parametrize("name", ["softmax", "cast_copy"])
def test_advice_at_small_sizes(name: str) -> None:
    assert check(name, CORPUS[name].small, FEW) >= 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CORPUS)
def test_advice_comes_true(name: str) -> None:
    assert check(name, {}, TRIES) >= 1


def test_the_corpus_has_at_least_thirty_kernels() -> None:
    assert len(CORPUS) >= 30
