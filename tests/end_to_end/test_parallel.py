"""`T.Parallel`: what the pass makes of random kernels means the same, to the interpreter and on the
simulator at strict."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number

import tile_ir
import tile_passes
from tile_ir import DEFAULT_TARGET, Automatic, KernelError

from .kernel_batch import KernelBatch, interpreted
from .parallel_kernels import RandomKernel, random_kernel, same

KERNELS = 200
PASSES = ["infer_memory", "vectorize_parallel"]
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)


def seeded(seed: int) -> tuple[RandomKernel, tile_ir.Func]:
    source = random.Random(seed)
    return random_kernel(lambda options: options[source.randrange(len(options))])


@settings(max_examples=examples(kept_number(60)), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_interpreter_sees_no_difference(data: st.DataObject) -> None:
    kernel, func = random_kernel(lambda options: data.draw(st.sampled_from(list(options))))
    tile_ir.verify(func)
    try:
        vectorized = tile_passes.apply_passes(func, PASSES, DEFAULT_TARGET)
    except KernelError as error:
        assert error.slug == "scalar-function", error  # neither unit can: said at the line
        return
    want = interpreted(func, kernel.arguments)
    assert not same(kernel, interpreted(vectorized, kernel.arguments), want)
    lowered = tile_passes.run_pipeline(func, DEFAULT_TARGET).func
    assert not same(kernel, interpreted(lowered, kernel.arguments), want)


@pytest.mark.exhaustive
def test_the_simulator_agrees_and_finds_no_race(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = []
    for seed in range(KERNELS):
        kernel, func = seeded(seed)
        try:
            left = AUTOMATIC if seed % 3 == 0 else ()
            listed.append((batch.add(func, left), seed, kernel, func))
        except KernelError as error:
            assert error.slug == "scalar-function", error
    batch.build()
    wrong = []
    for number, seed, kernel, func in listed:
        outcome = batch.run(number, kernel.arguments, checks=2)
        if outcome.error is not None:
            wrong.append(f"{seed} (k{number}): {outcome.error.kind}: {outcome.error.text}")
            continue
        difference = same(kernel, outcome.arrays, interpreted(func, kernel.arguments))
        if difference:
            wrong.append(f"{seed} (k{number}): {difference}")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:10])
    assert len(listed) > 0.9 * KERNELS
