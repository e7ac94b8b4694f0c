"""No false alarm: the examples give the same bytes and no fault, whatever core goes first, at both
levels of checks. `python -m conformance . --schedules 50` does so with the scripts as they are."""

from __future__ import annotations

import pytest
from kept_cases import running

from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch
from .test_examples import small_kernels

SEEDS = 50
KERNELS = small_kernels()


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[KernelBatch, dict[str, int]]:
    made = KernelBatch(tmp_path_factory.mktemp("schedules"))
    numbers = {
        name: made.add(KERNELS[name].func, KERNELS[name].automatic)
        for name in sorted(running(request, "name"))
    }
    made.build()
    return made, numbers


@pytest.mark.parametrize("level", ["device", "strict"])
@pytest.mark.parametrize("name", KERNELS)
def test_examples_under_many_schedules(
    name: str, level: str, batch: tuple[KernelBatch, dict[str, int]]
) -> None:
    made, numbers = batch
    kernel = KERNELS[name]
    seen = set()
    for seed in range(SEEDS):
        for starved in range(4):
            outcome = made.run(
                numbers[name],
                kernel.arguments,
                checks=getattr(launcher(), f"CHECKS_{level.upper()}"),
                seed=seed,
                starved=starved,
            )
            assert outcome.error is None, (seed, starved, outcome.error.text)
            seen.add(outcome.arrays[kernel.output].tobytes())
    assert len(seen) == 1
