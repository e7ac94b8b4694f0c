"""The generator: the same seed gives the same kernel, all are legal and defined, and between them
they have whatever a pass could stumble over."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from kept_cases import kept_number
from structural_equality import structurally_equal

import tile_ir
from fuzz.barriers import barriers_everywhere
from fuzz.campaign import features, kind_of
from fuzz.flags import flags_everywhere
from fuzz.kernels import argument_sets, random_kernel, small_target
from fuzz.verdict import Opinions, check
from tile_ir.nodes import Phase
from tile_ir.traversal import walk

SEEDS = range(kept_number(150))
# So many kernels show every feature and statement.
KERNELS = max(200, kept_number(600))


def test_a_seed_gives_one_kernel() -> None:
    for seed in range(20):
        first, second = random_kernel(seed), random_kernel(seed)
        assert tile_ir.print_func(first) == tile_ir.print_func(second)


def test_kernels_are_legal_and_survive_their_text() -> None:
    for seed in SEEDS:
        func = random_kernel(seed)
        assert func.phase is Phase.PIPELINED
        tile_ir.verify(func)
        if seed % 10 == 0:
            assert structurally_equal(func, tile_ir.parse(tile_ir.print_func(func)))


def test_everything_occurs() -> None:
    found: Counter[str] = Counter()
    statements: Counter[str] = Counter()
    for seed in range(KERNELS):
        func = random_kernel(seed)
        found.update(features(func))
        statements.update(kind_of(s) for s in walk(func.launch.body))
    expected = {
        "loops", "nested loops", "run-time trips", "unrolled loops", "while", "branches", "break",
        "slots", "aliases", "scratch", "cube", "vector", "both cores",
    }  # fmt: skip
    assert set(found) == expected
    assert min(found.values()) >= KERNELS // 60, found
    assert found["run-time trips"] >= 0.7 * KERNELS
    operations = {
        "copy_gm_ub", "copy_ub_gm", "copy_ub_ub", "fill", "add", "sub", "mul", "max", "min", "abs",
        "relu", "axpy", "mul_add_dst", "cast", "broadcast", "reduce_max", "reduce_min",
        "copy_gm_l1", "clear_l1", "copy_l1_l0a", "copy_l1_l0b", "zero_l0", "mma", "copy_l0c_gm",
    }  # fmt: skip
    assert operations | {"store", "let"} <= set(statements)


def test_arguments_take_every_trip_count() -> None:
    func = random_kernel(0)
    sets = argument_sets(func, 0, 5)
    assert [sorted(s[i] for s in sets) for i in (-1, -2)] == [[0, 1, 2, 3, 4]] * 2
    again = argument_sets(func, 0, 5)
    assert all(
        np.array_equal(x, y)
        for a, b in zip(sets, again, strict=True)
        for x, y in zip(a, b, strict=True)
    )


def test_small_targets_are_smaller() -> None:
    func = random_kernel(0)
    default = tile_ir.DEFAULT_TARGET.capacity
    assert any(small_target(func, 0.5).capacity[m] < default[m] for m in default)


@pytest.mark.parametrize("order", [barriers_everywhere, flags_everywhere])
def test_kernels_read_only_what_is_written(order: object) -> None:
    """With full order nothing is wrong: what fails otherwise fails for want of order."""
    by = Opinions(lambda func, target: order(func))  # type: ignore[operator]
    for seed in range(kept_number(60)):
        failure = check(random_kernel(seed), seed, by, compared=5).failure
        assert failure is None, f"seed {seed}: {failure.kind}: {failure.message}"
