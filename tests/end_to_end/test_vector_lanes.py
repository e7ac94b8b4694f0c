"""`threads=2` means what `threads=1` means: to the interpreter for every case, and for a part of
them on the simulator with its checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_ir
import tile_passes
from tile_ir import DEFAULT_TARGET, Automatic, Func

from .kernel_batch import KernelBatch, interpreted
from .lane_accesses import run_recorded
from .lane_kernels import LaneCase, lane_cases
from .random_lane_kernels import random_lane_kernel

CASES = list(lane_cases())
SIMULATED_EVERY = 9
RANDOM = 120


def traced(case: LaneCase, threads: int) -> Func:
    return case.make(threads)


def split(func: Func) -> Func:
    return tile_passes.apply_passes(func, ["infer_memory", "split_vector_lanes"], DEFAULT_TARGET)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 600
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_two_lanes_do_what_one_does(case: LaneCase) -> None:
    one, two = traced(case, 1), split(traced(case, 2))
    want = interpreted(one, case.arguments)
    found, met = run_recorded(two, case.arguments)
    assert not met
    for a, b in zip(want, found, strict=True):
        np.testing.assert_array_equal(a, b)
    if case.splits is not None:
        assert (two.launch.threads is None) == case.splits, [r.render() for r in two.remarks]
    assert two.launch.threads is None or two.remarks, "one lane does all, and nobody says why"


@pytest.mark.parametrize("seed", range(RANDOM))
def test_random_kernels(seed: int) -> None:
    kernel = random_lane_kernel(seed)
    two = tile_ir.parse(kernel.text(2))
    one = replace(two, launch=replace(two.launch, threads=1))
    arguments = kernel.arguments()
    want = interpreted(one, arguments)
    new = tile_passes.apply_passes(two, ["split_vector_lanes"], DEFAULT_TARGET)
    found, met = run_recorded(new, arguments)
    assert not met
    for a, b in zip(want, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_simulator_agrees_and_finds_nothing(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed: list[tuple[int, LaneCase]] = []
    for case in CASES[::SIMULATED_EVERY]:
        listed.append((batch.add(traced(case, 2), (Automatic.SYNC,)), case))
    batch.build()
    wrong: list[str] = []
    for number, case in listed:
        outcome = batch.run(number, case.arguments, checks=1)
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        want = interpreted(traced(case, 1), case.arguments)
        if not all(_close(a, b) for a, b in zip(want, outcome.arrays, strict=True)):
            wrong.append(f"{case.name}: differs")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:20])


def _close(want: Any, found: Any) -> bool:
    """Functions that the device approximates are off by a few ulp there."""
    if want.dtype.kind != "f":
        return bool(np.array_equal(want, found))
    return bool(np.allclose(want, found, rtol=2e-3 if want.itemsize == 2 else 1e-5, equal_nan=True))
