"""The order between cores against a graph of concrete runs of random blocks: what passes is right
in every run, what people write passes, and whatever is missing is noticed."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter

import example_kernels
import pytest

from tile_ir import DEFAULT_TARGET, Func, Op
from tile_ir.check_sync.across import check_across
from tile_ir.check_sync.across.streams import CROSS
from tile_ir.walk import rewrite, walk_ops
from tile_passes import run_pipeline

from .block_order import problems_of
from .random_blocks import M, N, anything, handover

MORE = int(os.environ.get("TILE_TEST_SYNC", "1"))
SIZES = [*itertools.product((0, 1, 2, 3, 5), (0, 2)), (18, 1), (1, 18)]


def concrete(func: Func) -> set[str]:
    """What is wrong in some run."""
    return {p for n, m in SIZES for p in problems_of(func, {N: n, M: m})}


def without(func: Func, op: Op) -> Func:
    return func.with_body(rewrite(func.launch.body, lambda s: () if s is op else s))


def test_what_passes_is_right_in_every_run() -> None:
    rng = random.Random(21)
    count: Counter[str] = Counter()
    for number in range(150 * MORE):
        func = anything(random.Random(rng.random()))
        said, wrong = check_across(func, DEFAULT_TARGET), concrete(func)
        count["clean"] += not wrong
        count["passed"] += not said
        slugs = {d.slug for d in said}
        assert slugs & wrong or not wrong, (number, wrong, slugs)
    print(count)
    assert count["passed"] > 0.8 * count["clean"] > 0, count


def test_handovers_written_by_hand_pass() -> None:
    rng = random.Random(22)
    for number in range(60 * MORE):
        func = handover(random.Random(rng.random()))
        assert not concrete(func), (number, concrete(func))
        assert not check_across(func, DEFAULT_TARGET), (number, [d.render() for d in check_across(func, DEFAULT_TARGET)])


def test_whatever_is_missing_in_a_handover_is_noticed() -> None:
    """Without one cross flag the checker objects, as some run does."""
    rng = random.Random(23)
    count: Counter[str] = Counter()
    for number in range(25 * MORE):
        func = handover(random.Random(rng.random()))
        for op in walk_ops(func.launch.body):
            if op.opdef.effect not in CROSS:
                continue
            mutant = without(func, op)
            said, wrong = check_across(mutant, DEFAULT_TARGET), concrete(mutant)
            assert said or not wrong, (number, op.loc, wrong)
            count["noticed" if said else "redundant"] += 1
    print(count)
    assert count["redundant"] * 100 <= count["noticed"], count


def attention(length: int) -> Func:
    made = example_kernels.load("05_flash_attention").flash_attention
    return run_pipeline(made.__wrapped__(1, 2, length, 128, 64, 128), DEFAULT_TARGET).func


@pytest.mark.parametrize("length", [512, 4096])
def test_every_cross_flag_of_flash_attention_matters(length: int) -> None:
    func = attention(length)
    assert not check_across(func, DEFAULT_TARGET)
    signals = [op for op in walk_ops(func.launch.body) if op.opdef.effect in CROSS]
    assert len(signals) == 6
    for op in signals:
        assert check_across(without(func, op), DEFAULT_TARGET), op.loc


@pytest.mark.times
def test_long_flash_attention_takes_little_time() -> None:
    func = attention(65536)
    started = time.process_time()
    assert not check_across(func, DEFAULT_TARGET)
    assert time.process_time() - started < 1.0  # 0.05 s on an idle machine
