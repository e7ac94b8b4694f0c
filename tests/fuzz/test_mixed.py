"""1,000 random kernels for both kinds of core, 300 with pipelined loops, and every such kernel that
once failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_cases import kept_number

import tile_ir
from fuzz.minimality import Minimality
from fuzz.mixed.campaign import FOUND, MixedTally, run_mixed
from fuzz.mixed.verdict import MORE_SCHEDULES, judge

KERNELS, PIPELINED, CHUNK = 1000, 300, 50


@pytest.mark.parametrize("first", range(0, KERNELS, CHUNK))
def test_mixed_kernels(first: int) -> None:
    _none_wrong(run_mixed(first, kept_number(CHUNK)), "")


@pytest.mark.parametrize("first", range(0, PIPELINED, CHUNK))
def test_mixed_pipelined_kernels(first: int) -> None:
    """Results equal those of the loops as they are written, whatever overlaps."""
    _none_wrong(run_mixed(first, kept_number(CHUNK), pipelined=True), " --pipelined")


def _none_wrong(tally: MixedTally, option: str) -> None:
    if tally.found:
        seed, failure = tally.found[0].seed, tally.found[0].failure
        pytest.fail(
            f"seeds {[f.seed for f in tally.found]}; of {seed}: {failure.kind}: {failure.message}; "
            f"`python -m fuzz 1 --mixed --seed SEED{option}` makes it small"
        )
    assert sum(tally.refused.values()) <= CHUNK // 10, tally.refusals
    assert len(tally.unproved) <= CHUNK // 25, tally.unproved


@pytest.mark.exhaustive
def test_cross_core_flags_are_needed() -> None:
    """Of every 50th kernel: the whole measure is that of `python -m fuzz N --mixed`."""
    found = Minimality()
    for seed in range(1, KERNELS, 50):
        found = found + run_mixed(seed, 1, 1).minimal
    assert found.single_noticed >= 0.99 * found.single, found
    assert found.flags_noticed >= 0.9 * found.flags, found


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.tir")), ids=lambda p: p.stem)
def test_what_failed_once(path: Path) -> None:
    func = tile_ir.parse(path.read_text())
    for seed in range(2):
        judged = judge(func, seed, compared=5, schedules=MORE_SCHEDULES)
        failure = judged.failure
        assert failure is None, f"{failure.kind}: {failure.message}"
        assert not judged.refused, judged.message
