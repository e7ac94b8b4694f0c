"""Mutated kernels: sixty that are always the same; `make fuzz-simulator N=2000` runs more."""

from __future__ import annotations

import random

import pytest

from fuzz_sources import (
    BASES,
    NO_STRUCT,
    NOT_COMPILED,
    base_text,
    describe,
    fuzz,
    make_mutant,
    run_batch,
    table,
)
from mutate_source import mutate


@pytest.mark.exhaustive
def test_sixty_mutants_end_with_success_or_a_report() -> None:
    mutants = fuzz(60, seed=1)
    assert [describe(m) for m in mutants if m.problem] == []
    assert all(m.outcome for m in mutants) and len(mutants) == 60
    ran = [m for m in mutants if m.outcome not in (NOT_COMPILED, NO_STRUCT)]
    assert len(ran) >= 30, table(mutants)
    assert any(m.fault for m in ran) and any(m.fault is None for m in ran), table(mutants)


@pytest.mark.parametrize("base", range(len(BASES)))
def test_mutants_are_reproducible(base: int) -> None:
    text = base_text(BASES[base])
    assert [mutate(text, random.Random(i)) for i in range(20)] == [
        mutate(text, random.Random(i)) for i in range(20)
    ]
    assert len({mutate(text, random.Random(i)) for i in range(20)}) > 10
    assert make_mutant(base, 3).text == make_mutant(base, 3).text


def test_the_kernels_are_correct_before_they_are_mutated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz_sources.mutate", lambda text, generator: text)
    mutants = run_batch(range(len(BASES)), seed=0)
    assert {m.base.path: m.fault for m in mutants if m.outcome != "success"} == {}


def test_a_frame_larger_than_the_stack_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simulator is asked to fill there lies beyond the guard page."""
    larger = ("(int32_t, 3, steps)", "(int32_t, 65535, steps)")
    monkeypatch.setattr("fuzz_sources.mutate", lambda text, generator: text.replace(*larger))
    number = next(i for i, b in enumerate(BASES) if b.path.endswith("tiling_tour.cpp"))
    (mutant,) = run_batch([number], seed=0)
    assert mutant.outcome == "stack-overflow", describe(mutant)
