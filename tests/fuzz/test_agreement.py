"""Running final IR through the machine gives what compiling it gives: the same arrays bit for bit,
and of kernels with a barrier or flag left out the same fault at the same statement."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_batch import KernelBatch

from fuzz.barriers import barriers_everywhere
from fuzz.flags import flags_everywhere
from fuzz.kernels import argument_sets, random_kernel
from fuzz.machine import run
from fuzz.minimality import single_removals
from fuzz.verdict import opinions, plan, statement
from tile_ir import Func
from tile_runtime.launcher.native import launcher

SEEDS = range(5000, 5016)


def finals() -> list[Func]:
    """Correct kernels ordered in three ways, and some with one instruction left out."""
    result: list[Func] = []
    rng = random.Random(0)
    for seed in SEEDS:
        planned, target = plan(random_kernel(seed), tight=False)
        flags = flags_everywhere(planned) if seed % 6 == 0 else None
        automatic = opinions().order(planned, target)
        for func in filter(None, (barriers_everywhere(planned), flags, automatic)):
            removals = [r.func for r in single_removals(func)]
            result += [func, *rng.sample(removals, min(3, len(removals)))]
    return result


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> KernelBatch:
    built = KernelBatch(tmp_path_factory.mktemp("agreement"))
    # As final IR they go around the pipeline.
    built.funcs = [replace(f, name=f"k{i}_{f.name}") for i, f in enumerate(finals())]
    built.build(flags=["-w"])  # random kernels name what they do not use, and compare x with x
    return built


@pytest.mark.exhaustive
def test_same_arrays_and_same_faults(batch: KernelBatch) -> None:
    lines = (batch.folder / "batch.cpp").read_text().splitlines()
    faults = 0
    for number, func in enumerate(batch.funcs):
        for arguments in argument_sets(func, number, 3):
            compiled = batch.run(number, arguments, checks=launcher().CHECKS_STRICT, threads=1)
            found = run(func, [arguments])
            assert (compiled.error is None) == (found.error is None), (
                number, compiled.error, found.error)  # fmt: skip
            if found.error is None:
                for x, y in zip(compiled.arrays, found.arrays[0], strict=True):
                    assert not isinstance(x, np.ndarray) or x.tobytes() == y.tobytes()
                continue
            faults += 1
            assert compiled.error.kind == found.error.kind
            assert _line_of(compiled.error, lines) == _line_of_statement(func, found.error)
    assert faults >= 15, "some of what is left out has to matter"


def _line_of(error: Any, lines: list[str]) -> int:
    """The line of the kernel that a trailing comment names."""
    if not error.line:
        return 0
    comment = re.search(r"// fuzz\.py:(\d+)$", lines[error.line - 1])
    assert comment is not None, lines[error.line - 1]
    return int(comment[1])


def _line_of_statement(func: Func, error: Any) -> int:
    return statement(func, error.line).loc.line if error.line else 0
