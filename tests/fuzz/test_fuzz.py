"""The corpus of `make test`: 2,000 random kernels, and every kernel that once failed."""

from __future__ import annotations

from pathlib import Path

import pytest

import tile_ir
from fuzz.campaign import FOUND, run_seeds, shrunk
from fuzz.verdict import check, opinions

KERNELS, CHUNK = 2000, 50


@pytest.mark.parametrize("first", range(0, KERNELS, CHUNK))
def test_random_kernels(first: int) -> None:
    found = run_seeds(first, CHUNK).found
    if found:
        seed, failure = found[0].seed, found[0].failure
        small = tile_ir.print_func(shrunk(seed, failure, opinions()))
        pytest.fail(
            f"seeds {[f.seed for f in found]}; of {seed}: {failure.kind}: {failure.message}\n{small}"
        )


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.tir")), ids=lambda p: p.stem)
@pytest.mark.parametrize("tight", [False, True])
def test_what_failed_once(path: Path, tight: bool) -> None:
    func = tile_ir.parse(path.read_text())
    for seed in range(3):
        failure = check(func, seed, opinions(), compared=5, tight=tight).failure
        assert failure is None, f"{failure.kind}: {failure.message}"
