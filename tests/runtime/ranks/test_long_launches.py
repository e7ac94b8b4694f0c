"""Launches of many rounds: what they take in time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_kernels import RankKernels, own, shared
from rank_prelude import PRELUDE

KERNELS = RankKernels(PRELUDE)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR w, int32_t steps"
N, WORDS = 64, 128

BODIES = {
    # Slots change from step to step, and are used again every other one.
    "barriers": """
        t.Load(x, 0); t.Store(y, i % 2, t.next);
        aclshmem_barrier_all();
        t.Load(y, i % 2); t.Store(out, 0, t.me); t.Done();
    """,
    "barriers_and_words": """
        t.Load(x, 0); t.Store(y, i % 2, t.next); aclshmem_quiet();
        aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, t.next);
        aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, i);
        t.Load(y, i % 2); t.Store(out, 0, t.me); t.Done();
        aclshmem_barrier_all();
    """,
    "words": """
        t.Load(x, 0); t.Store(y, 0, t.next); aclshmem_quiet();
        aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, t.next);
        aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, i);
        t.Load(y, 0); t.Store(out, 0, t.me); t.Done();
        aclshmemx_signal_op(Word(w, LINE), i, ACLSHMEM_SIGNAL_SET, (t.me + t.all - 1) % t.all);
        aclshmem_signal_wait_until(Word(w, LINE), ACLSHMEM_CMP_GE, i);
    """,
    "one_word_of_all": """
        for (int32_t p = 0; p < t.all; ++p)
            aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, p);
        aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, i * t.all);
    """,
}
LOOP = "Tile t;\nfor (int32_t i = 1; i <= steps; ++i) {{ {body} {last} }}"
for _name, _body in BODIES.items():
    KERNELS.add(_name, PARAMETERS, LOOP.format(body=_body, last=""))
# A step of its own at the end that forgets to wait.
KERNELS.add(
    "late_race",
    PARAMETERS,
    LOOP.format(
        body=BODIES["barriers"],
        last="if (i == steps) { t.Load(x, 0); t.Store(y, 0, t.next); t.Load(y, 0); t.Done(); }",
    ),
)


def arrays(ranks: int) -> tuple[Any, ...]:
    x = own(ranks, 1, N)
    for rank in range(ranks):
        x[rank][:] = rank + 1
    return x, shared(ranks, 2, N), own(ranks, 1, N), shared(ranks, WORDS)


def run(name: str, ranks: int, steps: int) -> float:
    """Seconds of the processor that a launch takes."""
    x, y, out, w = arrays(ranks)
    KERNELS.run(name, ranks, x, y, out, w, 1)
    w = shared(ranks, WORDS)
    start = time.process_time()
    KERNELS.run(name, ranks, x, y, out, w, steps)
    taken = time.process_time() - start
    if name != "one_word_of_all":
        for rank in range(ranks):
            np.testing.assert_array_equal(out[rank], x[(rank - 1) % ranks])
    return taken


@pytest.mark.parametrize("name", BODIES)
def test_ten_thousand_steps(name: str) -> None:
    run(name, 2, 10_000)


@pytest.mark.times
@pytest.mark.parametrize("name", BODIES)
def test_ten_thousand_steps_take_less_than_two_seconds(name: str) -> None:
    assert run(name, 2, 10_000) < 2


@pytest.mark.parametrize("steps", [1, 2, 1000])
def test_what_is_forgotten_hides_no_race_behind_it(steps: int) -> None:
    for seed in range(4):
        fault = KERNELS.fault("late_race", 3, *arrays(3), steps, seed=seed)
        assert fault.kind == "race"


MEMORY = """
import resource, sys
sys.path[:0] = {folders!r}
import test_long_launches as launches
launches.run({name!r}, 3, 10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
launches.run({name!r}, 3, 1000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", ["barriers", "barriers_and_words"])
def test_the_memory_of_a_thousand_rounds_is_that_of_ten(name: str) -> None:
    KERNELS.kernels.library()
    here = Path(__file__).resolve().parent
    folders = [str(here), str(here.parent / "simulator"), str(here.parent), str(here.parents[1])]
    code = MEMORY.format(folders=folders, name=name)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[-1]) < 4096  # KiB
