"""The examples of many devices at `strict`: for every number of ranks, in sizes that leave a rest,
in many schedules, and by the interpreter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tile_ir.switches import override
from tile_runtime import Ranks, SimulationError

from .example_cases import EXAMPLES, RANKS, case_of
from .rank_cases import STEP, interpret_case, load, lowered, schedules, simulate, tensors


def _as_expected(name: str, ranks: int, size: int, folder: Path) -> None:
    case = case_of(name, ranks, size)
    kernel = case.kernel(load(case.script, folder))
    first = None
    for seed, delivery in schedules():
        found = simulate(case, kernel, seed, delivery)
        case.check(found)
        outputs = [found[number] for number in case.expected]
        first = outputs if first is None else first
        for a, b in zip(first, outputs, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.whole
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_at_strict(name: str, tmp_path: Path) -> None:
    _as_expected(name, 3, 0, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_on_any_number_of_ranks(
    name: str, ranks: int, size: int, tmp_path: Path
) -> None:
    _as_expected(name, ranks, size, tmp_path)


# The interpreter takes seconds for each of these, and does others that are alike.
SLOW = ("gemm_rs", "gemm_ar", "attention")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in SLOW])
def test_the_interpreter_says_the_same(name: str, tmp_path: Path) -> None:
    _interpreted(name, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SLOW)
def test_the_interpreter_says_the_same_of_large_ones(name: str, tmp_path: Path) -> None:
    _interpreted(name, tmp_path)


def _interpreted(name: str, folder: Path) -> None:
    """Of one text for a block from top to bottom, and of cores that run by themselves."""
    case = case_of(name, 3, 0)
    text, cores = lowered(case.func(load(case.script, folder)))
    case.check(interpret_case(case, text, in_text_order=True))
    case.check(interpret_case(case, cores, in_text_order=False))


def test_tokens_without_room_are_told_before_any_is_sent(tmp_path: Path) -> None:
    case = case_of("moe_of_one", 3, 1)
    inbox = 5
    short = replace(case, parameters=(*case.parameters[:-1], case.parameters[-1] - 1))
    kernel = short.kernel(load(case.script, tmp_path))
    with override(check="strict"), Ranks(case.ranks) as world:
        given = [tensors(world, a) for a in short.arguments]
        given[inbox] = world.zeros((case.parameters[-1] - 1, case.parameters[4]), torch.float32)
        with pytest.raises(SimulationError, match="more tokens than it has room for") as told:
            world.launch(kernel, *(1 if a is STEP else a for a in given))
        assert told.value.slug == "assertion"
        assert not given[inbox].all().any()
