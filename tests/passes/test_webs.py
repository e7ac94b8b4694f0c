"""A buffer for each web never changes what a program computes: random programs are interpreted with
every web of every buffer renamed."""

from __future__ import annotations

import random

import memory_programs
import numpy as np
import pytest
from kept_cases import kept

import tile_ir
from tile_ir import Func
from tile_ir.interpreter import interpret
from tile_passes.analysis.webs import Web, webs

CHUNKS = 2


def with_own_buffers(func: Func) -> tuple[Func, set[Web]]:
    """The function with all webs renamed but those of buffers with two names, and these webs."""
    found = webs(func.launch.allocs, func.launch.body)
    second = {a.alias_of for a in func.launch.allocs}
    chosen = {
        web
        for uses in found.at
        for web in uses.items()
        if web[1] and found.buffers[web[0]].buffer not in second
    }
    return found.renamed(func, chosen), chosen


def results(func: Func, seed: int, choices: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((memory_programs.RESULTS, memory_programs.WIDTH)).astype(np.float32)
    y = np.zeros_like(x)
    with np.errstate(all="ignore"):
        interpret(func, [x, choices, y])
    return y


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_value_is_lost(chunk: int) -> None:
    renamed = 0
    for seed in kept(range(chunk * 40, (chunk + 1) * 40), least=8):
        rng = random.Random(seed)
        func = memory_programs.random_program(rng)
        new, chosen = with_own_buffers(func)
        tile_ir.verify(new)
        renamed += len(chosen)
        for _ in range(2):
            numbers = [rng.randint(0, 3) for _ in range(memory_programs.CHOICES)]
            choices = np.array(numbers, np.int32)
            expected, actual = results(func, seed, choices), results(new, seed, choices)
            same = (expected == actual) | np.isnan(expected)
            assert same.all(), (
                f"seed {seed}, row {np.argwhere(~same)[0][0]}, choices {numbers}\n"
                f"{tile_ir.print_func(func)}{tile_ir.print_func(new)}"
            )
    assert renamed > 8
