"""`check_sync` against concrete runs of random programs: what it passes is right in every run, and
what people write by hand it passes."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter

from kept_cases import kept_number

from tile_checkers import check_sync
from tile_checkers.loop_facts import SYNC
from tile_ir import Func, Op, Section
from tile_ir.expr import Var
from tile_ir.traversal import rewrite, walk_ops

from .concrete_order import Run
from .random_sync import M, N, anything, pipeline

MORE = int(os.environ.get("TILE_TEST_SYNC", "1"))
SIZES = list(itertools.product((0, 1, 2, 3, 5), (0, 2)))


def concrete(func: Func) -> set[str]:
    """What is wrong in some run."""
    (section,) = func.launch.body
    assert isinstance(section, Section)
    found: set[str] = set()
    for n, m in SIZES:
        values = {N: n, M: m, Var("cid"): 0, Var("vid"): 0}
        found |= Run(func, values).section(section)
    return found


def without(func: Func, op: Op) -> Func:
    return func.with_body(rewrite(func.launch.body, lambda s: () if s is op else s))


def test_what_passes_is_right_in_every_run() -> None:
    rng = random.Random(11)
    count: Counter[str] = Counter()
    for number in range(kept_number(150 * MORE)):
        func = anything(random.Random(rng.random()))
        said, wrong = check_sync(func), concrete(func)
        count["clean"] += not wrong
        count["passed"] += not said
        if wrong:
            assert said, (number, wrong)
    print(count)
    assert count["passed"] > 0.5 * count["clean"] > 0, count


def test_pipelines_written_by_hand_pass() -> None:
    rng = random.Random(12)
    for number in range(kept_number(40 * MORE)):
        func = pipeline(random.Random(rng.random()))
        assert not concrete(func), number
        assert not check_sync(func), (number, [d.render() for d in check_sync(func)])


def test_whatever_is_missing_in_a_pipeline_is_noticed() -> None:
    """Without one instruction the checker objects wherever some run goes wrong."""
    rng = random.Random(13)
    count: Counter[str] = Counter()
    for number in range(kept_number(12 * MORE)):
        func = pipeline(random.Random(rng.random()))
        for op in walk_ops(func.launch.body):
            if op.opdef.effect not in SYNC:
                continue
            mutant = without(func, op)
            said, wrong = check_sync(mutant), concrete(mutant)
            assert said or not wrong, (number, op.loc, wrong)
            count["wrong" if wrong else "redundant" if not said else "only said"] += 1
    print(count)
    assert count["only said"] * 20 < count["wrong"], count
