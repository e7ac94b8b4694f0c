"""What one launch of tasks takes less than a launch for each, by the time model, and of what."""

from __future__ import annotations

import importlib.util
import sys
from itertools import pairwise
from types import ModuleType
from typing import Any

import example_kernels
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import gain_over, task_times

# Of a layer of a model with 0.1 billion parameters; the example's own has one with 1B.
SIZES = {"width": 1024, "heads": 16, "keys": 4, "D": 64, "hidden": 2816}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    script = example_kernels.EXAMPLES / "megakernel" / "decoder_block.py"
    spec = importlib.util.spec_from_file_location("timed_megakernel", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["timed_megakernel"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def timed(example: Any) -> tuple[dict[str, Any], Any, str]:
    """The timelines of ten launches and of one, and the source of that."""
    torch.manual_seed(0)
    kernels = example.Kernels(**SIZES, block_N=64, block_K=128)
    with override(time=True, check="off"):
        launch = T.compile(
            example.decoder_block(kernels), out_idx=[-1], pass_configs=example.AUTOMATIC
        )
        layer = example.random_layer(1, 64, **SIZES)
        x, angles = torch.randn(1, SIZES["width"]).half(), example.angles_at(63, SIZES["D"])
        each = example.Times(example.compile_each(kernels))
        example.one_by_one(each.kernels, x, angles, layer)
        launch(x, *angles, *layer.values())
        return each.taken, launch.timeline(), launch.get_kernel_source()


def test_one_launch_is_no_faster_than_the_chip(timed: Any) -> None:
    launches, whole, source = timed
    tasks = task_times(whole, source)
    assert [t.name for t in tasks] == list(launches)
    # The tasks of a layer are a chain: that is the critical path.
    path = sum(t.own for t in tasks)
    moved = whole.totals["hbm_bytes"] / (whole.hbm_bandwidth * 1e3)
    total = sum(line.microseconds for line in launches.values())
    assert max(path, moved) < whole.body_microseconds < whole.microseconds < total
    for task, later in pairwise(tasks):
        assert task.begin < task.end and task.begin < later.begin


def test_the_difference_is_explained(timed: Any) -> None:
    launches, whole, source = timed
    gain = gain_over(list(launches.values()), whole, source)
    assert gain.total == pytest.approx(
        sum(line.microseconds for line in launches.values()) - whole.microseconds
    )
    assert abs(gain.rest) <= 0.05 * gain.total, gain


def test_without_launches_tails_and_prefetch_are_left(timed: Any) -> None:
    """Where a launch costs nothing, no more can be won than loads before waits, and waits cost."""
    launches, whole, source = timed
    gain = gain_over(list(launches.values()), whole, source)
    assert gain.without_launches == pytest.approx(gain.prefetch - gain.waits + gain.rest)
    assert gain.without_launches < gain.prefetch < gain.heads
    assert "if launches cost nothing" in str(gain)


def test_a_wait_costs_a_store_a_look_and_meetings(timed: Any) -> None:
    """Nine waits for up to 24 blocks, in words of 8: 0.3 us to count up, and one look of 0.15 to
    0.3 us by each core of a block between two meetings."""
    _, whole, source = timed
    waited = [t.waited for t in task_times(whole, source)[1:]]
    assert len(waited) == 9 and all(0.4 <= w <= 1.0 for w in waited), waited
