"""Buffers that are read together lie in different halves of the bank groups, and lose no value."""

from __future__ import annotations

import random
from dataclasses import replace

import memory_programs
import numpy as np
import pytest
from kept_cases import kept

import tile_ir
from tile_checkers import check_memory
from tile_ir import DEFAULT_TARGET, Automatic, Func, Memory, Target
from tile_ir.interpreter import interpret
from tile_passes import apply_passes
from tile_passes.analysis.memory_use import memory_max_live

LEFT = frozenset({Automatic.SYNC, Automatic.MEMORY, Automatic.BANKS})
TEXT = """file 0 "kernel.py"
func "k" phase split automatic banks memory sync @0:1:1 {{
  launch blocks(1) %cid %vid threads any @0:1:1 {{
    alloc $a: ub float32 [{n}] @0:2:5
    alloc $b: ub float32 [{n}] @0:3:5
    alloc $c: ub float32 [{n}] @0:4:5
    alloc $d: ub float32 [{n}] @0:5:5
    section vector @0:6:5 {{
      fill($a, 1.0) @0:7:7
      fill($b, 2.0) @0:8:7
      add($c, $a, $b) @0:9:7
      add($d, $c, $a) @0:10:7
    }}
  }}
}}
"""


def with_ub(size: int) -> Target:
    return replace(DEFAULT_TARGET, capacity={**DEFAULT_TARGET.capacity, Memory.UB: size})


def addresses(func: Func) -> dict[str, int]:
    return {a.buffer.name: a.address or 0 for a in func.launch.allocs}


def results(func: Func, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((memory_programs.RESULTS, memory_programs.WIDTH)).astype(np.float32)
    choices = rng.integers(0, 4, memory_programs.CHOICES).astype(np.int32)
    y = np.zeros_like(x)
    with np.errstate(all="ignore"):
        interpret(func, [x, choices, y])
    return y


@pytest.mark.parametrize("chunk", range(1))
def test_no_value_is_lost(chunk: int) -> None:
    for seed in kept(range(chunk * 15, (chunk + 1) * 15), least=1):
        func = memory_programs.random_program(random.Random(seed))
        func = replace(func, automatic=LEFT)
        # Room for all of them apart, and hardly more than must be.
        for room in (
            DEFAULT_TARGET.capacity[Memory.UB],
            memory_max_live(func, DEFAULT_TARGET)[Memory.UB] + 2048,
        ):
            plan = apply_passes(func, ["plan_memory"], with_ub(room))
            assert not check_memory(plan), f"seed {seed}: {tile_ir.print_func(plan)}"
            expected, actual = results(func, seed), results(plan, seed)
            assert ((expected == actual) | np.isnan(expected)).all(), f"seed {seed}"


@pytest.mark.parametrize("n", [64, 96, 1000, 8192])
def test_operands_of_an_instruction_start_in_different_halves(n: int) -> None:
    func = tile_ir.parse(TEXT.format(n=n))
    found = addresses(apply_passes(func, ["plan_memory"], DEFAULT_TARGET))
    half = {name: address % 512 for name, address in found.items()}
    assert {half["a"], half["b"]} == {half["a"], half["c"]} == {0, 256}


def test_without_room_buffers_lie_as_before() -> None:
    func = tile_ir.parse(TEXT.format(n=64))
    kept_apart = replace(func, automatic=LEFT - {Automatic.BANKS})
    for room in (3 * 256, 4 * 256):
        here = addresses(apply_passes(func, ["plan_memory"], with_ub(room)))
        assert here == addresses(apply_passes(kept_apart, ["plan_memory"], with_ub(room)))
