"""Versions with a joint period that the order engine tells apart."""

from __future__ import annotations

import math
from itertools import product

import pytest

from tile_ir import FLOAT32, Buffer, Const, Loc, Memory
from tile_ir.analysis import MOST_RESIDUES
from tile_passes.analysis.version_counts import in_step


def buffer(name: str, size: int) -> Buffer:
    return Buffer(name, Memory.UB, FLOAT32, (Const(size),), Loc("k.py", 1, 1))


@pytest.mark.parametrize("sizes", [(64, 64, 64), (512, 64, 8)])
def test_all_counts_get_a_joint_period(sizes: tuple[int, ...]) -> None:
    buffers = [buffer(f"b{n}", size) for n, size in enumerate(sizes)]
    for counts in product(range(1, MOST_RESIDUES + 1), repeat=len(buffers)):
        asked = dict(zip(buffers, counts, strict=True))
        found = in_step(asked)
        assert all(found[b] >= asked[b] for b in buffers)
        assert math.lcm(*found.values()) <= MOST_RESIDUES
        if math.lcm(*counts) <= MOST_RESIDUES:
            assert found == asked
        assert found == in_step(found)


def test_the_fewest_bytes_are_taken() -> None:
    row, wide = buffer("row", 64), buffer("wide", 4096)
    assert in_step({row: 5, wide: 2}) == {row: 6, wide: 2}
    assert in_step({row: 2, wide: 5}) == {row: 5, wide: 5}


def test_more_versions_than_any_period_stay() -> None:
    one, other = buffer("one", 64), buffer("other", 64)
    assert in_step({one: 9, other: 2}) == {one: 9, other: 2}
    assert in_step({}) == {}
