"""The order between cores against a graph of concrete runs of random blocks: what passes is right
in every run, what people write passes, and whatever is missing is noticed."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter
from dataclasses import replace

import example_kernels
import pytest
from kept_cases import kept_number

from tile_checkers import block as across
from tile_checkers import check_choices
from tile_checkers.block import check_across
from tile_checkers.block.choices import Path, normal_form
from tile_checkers.block.iterations import LoopIterations
from tile_checkers.block.values import Values
from tile_checkers.loop_facts import CROSS
from tile_ir import DEFAULT_TARGET, For, Func, Op, parse
from tile_ir.analysis.intervals import EVERYTHING, Interval
from tile_ir.expr import Var, binary
from tile_ir.traversal import rewrite, walk, walk_ops, written_buffers
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


ROUNDS = """file 0 "k.py"
func "k" phase synced @0:1:1 {
  tensor $W: float32 [64, 64] @0:1:1
  tensor $G: float32 [18] @0:1:1
  scalar %n: int32
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [32, 64] address 0 @0:2:5
    alloc $c: l0c float32 [32, 64] address 0 @0:3:5
    section cube @0:4:5 {
      for %i: int32 in serial(0, %n) @0:5:7 {
        copy_l0c_gm($c, $W[0:+32, 0:+64]) {enable_relu=false} @0:6:9
        set_cross_flag(%i % 2) {pipe="fix", mode=2} @0:7:9
        wait_cross_flag(2) {pipe=""} @0:8:9
      }
    }
    section vector @0:10:5 {
      for %j: int32 in serial(0, %n) @0:11:7 {
        wait_cross_flag(%j % 2) {pipe=""} @0:12:9
        copy_gm_ub($W[%vid * 16:+16, 0:+64], $u[0:+16, 0:+64]) {pad_value=0.0} @0:13:9
        set_cross_flag(2) {pipe="mte2", mode=2} @0:14:9
        if %vid == 0 @0:15:9 {
          store $G[%j % 18] = $u[9, 5] @0:16:11
        }
      }
    }
  }
}
"""


def test_rounds_of_two_cores_are_cut_alike() -> None:
    """What one core stores does not choose ways, whatever it reads for that."""
    func = parse(ROUNDS)
    written = written_buffers(func.launch.body)
    loops = [s for s in walk(func.launch.body) if isinstance(s, For)]
    known = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
    kept = [
        tuple(LoopIterations(loop).of(40, Values(name, written), known, 4))
        for name, loop in zip(("aic", "aiv0"), loops, strict=True)
    ]
    assert kept[0] == kept[1] and len(kept[0]) < 40


def test_an_alarm_of_fewer_rounds_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the way where it was found, even where there are too many others for whole runs."""
    monkeypatch.setattr(LoopIterations, "_alike", lambda self, *_: self.loop.var.name == "i")
    monkeypatch.setattr(across, "WHOLE", 10)
    assert not check_across(parse(ROUNDS), DEFAULT_TARGET)


def test_a_true_alarm_of_fewer_rounds_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(across, "WHOLE", 10)
    unordered = ROUNDS.replace('        wait_cross_flag(2) {pipe=""} @0:8:9\n', "").replace(
        '        set_cross_flag(2) {pipe="mte2", mode=2} @0:14:9\n', ""
    )
    assert unordered.count("cross_flag(2)") == 0
    slugs = {d.slug for d in check_across(parse(unordered), DEFAULT_TARGET)}
    assert "cross-sync-missing" in slugs


def test_remainders_by_every_divisor_are_chosen() -> None:
    for divisor in (2, 8, 9, 16, 17):
        func = parse(
            ROUNDS.replace("for %i", f"if (%n + 1) % {divisor} == 0 @0:5:5 {{ for %i")
            .replace("for %j", f"if (%n + 1) % {divisor} == 0 @0:11:5 {{ for %j")
            .replace("      }\n    }", "      } }\n    }")
        )
        assert not [d for d in check_across(func, DEFAULT_TARGET) if d.severity == "error"]


LANES = """file 0 "k.py"
func "k" phase synced automatic cross @0:1:1 {
  tensor $W: float32 [1, 4096] @0:1:1
  scalar %stride: int32
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [1, 64] address 0 @0:2:5
    section vector @0:3:5 {
      copy_ub_gm($u, $W[0:+1, %vid * %stride:+64]) @0:4:7
    }
  }
}
"""


def test_what_each_vector_core_stores_is_no_choice_of_the_compiler() -> None:
    """Rows that overlap by a parameter are told with the numbers, and as the author's; only where
    the compiler gave the lanes their parts are they its own."""
    func = parse(LANES)
    (said,) = check_across(func, DEFAULT_TARGET)
    assert said.slug == "cross-sync-missing" and "for example with `%stride` " in said.message
    assert "let each vector core store to places of its own" in (said.hint or "")
    assert not check_choices(func, func)
    split = replace(func, launch=replace(func.launch, threads=2))
    assert check_choices(split, func)


def test_what_would_lie_outside_the_tensor_does_not_meet() -> None:
    """4000 plus a stride of at least 0 lies inside for small ones, and 4096 plus one never."""
    for start, slug in ((4000, "cross-sync-missing"), (4096, "sync-unproved")):
        rows = LANES.replace("%vid * %stride:+64", f"{start} + %stride - %vid:+64")
        assert {d.slug for d in check_across(parse(rows), DEFAULT_TARGET)} == {slug}


def test_what_passes_is_right_in_every_run() -> None:
    rng = random.Random(21)
    count: Counter[str] = Counter()
    for number in range(kept_number(150 * MORE)):
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
    for number in range(kept_number(60 * MORE)):
        func = handover(random.Random(rng.random()))
        assert not concrete(func), (number, concrete(func))
        assert not check_across(func, DEFAULT_TARGET), (
            number,
            [d.render() for d in check_across(func, DEFAULT_TARGET)],
        )


@pytest.mark.exhaustive
def test_whatever_is_missing_in_a_handover_is_noticed() -> None:
    """Without one cross flag the checker objects, as some run does."""
    rng = random.Random(23)
    count: Counter[str] = Counter()
    for number in range(kept_number(25 * MORE)):
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


def test_conditions_are_brought_to_their_form_once() -> None:
    """Runs of a block ask for it again and again: it prints what it compares."""
    x = Var("x")
    seen = [normal_form(binary("<", x * 3 + 1, 7)) for _ in range(5)]
    assert all(found is seen[0] for found in seen)
    (form, direct), (other, contrary) = seen[0], normal_form(binary(">=", x * 3 + 1, 7))
    assert form == other and direct is not contrary


def test_a_remainder_of_a_remainder_is_chosen_once() -> None:
    """The choice for the outer one is of what the inner one left: it is found again there."""
    a, b = Var("a"), Var("b")
    path = Path({a: Interval(0, 99), b: Interval(0, 99)})
    found = [path.event(e) for e in (a % 3, *[(a % 3 + b) % 4] * 3)]
    assert found == [0, 0, 0, 0]
    assert len(path.choices) == 2
