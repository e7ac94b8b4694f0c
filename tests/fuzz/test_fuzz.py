"""2,000 random kernels and 1,000 with pipelined loops (`make test`: a few), and every kernel that
once failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_cases import kept_number

import tile_ir
from fuzz.campaign import FOUND, Found, run_seeds
from fuzz.minimality import Minimality
from fuzz.verdict import check, opinions
from tile_passes.pipeline import PASSES

KERNELS, PIPELINED, CHUNK = 2000, 1000, 50


@pytest.mark.parametrize("first", range(0, KERNELS, CHUNK))
def test_random_kernels(first: int) -> None:
    _none_wrong(run_seeds(first, kept_number(CHUNK)).found, "")


@pytest.mark.parametrize("first", range(0, PIPELINED, CHUNK))
def test_random_pipelined_kernels(first: int) -> None:
    """Results equal those of the loops as they are written, whatever overlaps."""
    _none_wrong(run_seeds(first, kept_number(CHUNK), pipelined=True).found, " --pipelined")


def _none_wrong(found: list[Found], option: str) -> None:
    if found:
        seed, failure = found[0].seed, found[0].failure
        pytest.fail(
            f"seeds {[f.seed for f in found]}; of {seed}: {failure.kind}: {failure.message}; "
            f"`python -m fuzz 1 --seed SEED{option}` makes it small"
        )


@pytest.mark.exhaustive
def test_what_is_inserted_is_needed() -> None:
    """Of every 50th kernel: the whole measure is that of `make fuzz`."""
    by = opinions()
    if "insert_sync" not in PASSES or "check_sync" not in dict(by.checkers):
        pytest.skip("insert_sync and check_sync are not both there")
    found = Minimality()
    for seed in range(0, KERNELS, 50):
        found = found + run_seeds(seed, 1, 1, by=by).minimal
    assert found.single_noticed >= 0.99 * found.single, found
    assert found.flags_noticed >= 0.99 * found.flags, found


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.tir")), ids=lambda p: p.stem)
@pytest.mark.parametrize("tight", [False, True])
def test_what_failed_once(path: Path, tight: bool) -> None:
    func = tile_ir.parse(path.read_text())
    for seed in range(3):
        failure = check(func, seed, opinions(), compared=5, tight=tight).failure
        assert failure is None, f"{failure.kind}: {failure.message}"
