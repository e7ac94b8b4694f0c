"""Every synchronisation of the examples matters: without it, or with it wrong, the checker objects."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import example_kernels
import numpy as np
import pytest

from tile_checkers import check_sync
from tile_checkers.loop_facts import SYNC
from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_ir import DEFAULT_TARGET, Func
from tile_ir.costs.timing import timing_of
from tile_ir.traversal import rewrite, walk_ops
from tile_runtime.launcher.native import launcher
from tile_runtime.simulator.timeline import timeline_from

from .happens_before import first_problem
from .kernel_batch import KernelBatch
from .sync_mutants import DECLARATION, DEFINITION, Mutant, with_mutants

# Kernels with more mutants of their own than this try every third, unless everything is asked for.
MANY = 60
WHOLE = os.environ.get("TILE_TEST_MATRIX") == "whole"


def kernels() -> dict[str, tuple[Func, list[Any]]]:
    """Sizes at which every loop runs at least three times and every core has several tiles."""
    rng = np.random.default_rng(0)
    load = example_kernels.load

    def half(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    x = rng.standard_normal((320, 128)).astype(np.float32)
    s = rng.standard_normal((8, 256)).astype(np.float32)
    work = [np.zeros((4, 3, 32, 32), np.float32), np.zeros((4, 3, 32, 32), np.float16)]
    attention = [half(1, 2, 64, 64) for _ in range(3)]
    return {
        "vector_add": (
            load("01_vector_add").vector_add.__wrapped__(320, 128, 64), [x, x, np.zeros_like(x)]
        ),
        "gemm": (
            load("02_gemm").gemm.__wrapped__(64, 96, 320, 32, 48, 64),
            [half(64, 320), half(320, 96), np.zeros((64, 96), np.float16)],
        ),
        "gemm_intrinsic": (
            load("03_gemm_intrinsic").gemm_intrinsic.__wrapped__(96, 96, 512, 32, 32, 128, 32, 3),
            [half(96, 512), half(512, 96), np.zeros((96, 96), np.float16)],
        ),
        # Single rows: the graph takes what lies between the rows of a tile for its own.
        "softmax": (
            load("04_online_softmax").online_softmax.__wrapped__(8, 256, 1, 64, "float32", 1),
            [s, np.zeros_like(s)],
        ),
        "attention": (
            load("05_flash_attention").flash_attention.__wrapped__(1, 2, 128, 64, 32, 32),
            [half(1, 2, 128, 64), half(1, 2, 128, 64), half(1, 2, 128, 64),
             np.zeros((1, 2, 128, 64), np.float16), np.zeros((8, 3, 32, 32), np.float32),
             np.zeros((8, 3, 32, 32), np.float16), np.zeros((8, 3, 32, 64), np.float32)],
        ),
    }  # fmt: skip


@dataclass(frozen=True)
class Mutants:
    """Compiled kernels with all their mutants; those of the device headers belong to every kernel."""

    batch: KernelBatch
    of_kernel: list[list[Mutant]]
    of_headers: list[Mutant]


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Mutants:
    made = KernelBatch(tmp_path_factory.mktemp("mutants"))
    for func, _ in kernels().values():
        made.add(func)
    headers = tmp_path_factory.mktemp("headers")
    of_headers: list[Mutant] = []
    for path in sorted(Path(DEVICE_HEADER_DIR).rglob("*.h")):
        changed, new = with_mutants(path.read_text(), 1 + len(of_headers))
        of_headers += new
        target = headers / path.relative_to(DEVICE_HEADER_DIR)
        target.parent.mkdir(exist_ok=True)
        target.write_text(DECLARATION + changed if new else changed)
    of_kernel: list[list[Mutant]] = []

    def rewrite(text: str) -> str:
        first = 1 + len(of_headers) + sum(len(m) for m in of_kernel)
        changed, new = with_mutants(text, first)
        of_kernel.append(new)
        return (DECLARATION + DEFINITION) * (len(of_kernel) == 1) + changed

    made.build(rewrite, headers)
    return Mutants(made, of_kernel, of_headers)


@pytest.mark.parametrize("name", kernels())
def test_every_mutant_is_objected_to(name: str, mutants: Mutants) -> None:
    """Both opinions agree on each mutant: the simulator at strict level, and a graph made of the
    list of instructions alone. Where neither objects, what was changed was redundant."""
    made = mutants.batch
    number = list(kernels()).index(name)
    _, arguments = kernels()[name]
    module = launcher()
    target = DEFAULT_TARGET
    timing = timing_of(target)

    def of_the_simulator() -> str:
        fault = made.run(number, arguments, checks=module.CHECKS_STRICT).error
        return fault.kind if fault else ""

    def of_the_graph() -> str:
        timed = made.run(number, arguments, checks=module.CHECKS_OFF, timing=timing)
        if timed.error is not None:  # what keeps the run from ending, whatever the level
            return str(timed.error.kind)
        assert timed.timeline is not None
        return first_problem(timeline_from(*timed.timeline, target)) or ""

    assert (of_the_simulator(), of_the_graph()) == ("", "")
    # Loaded by the run above, together with the simulator it needs.
    library = ctypes.CDLL(str(made.library))
    chosen = ctypes.c_int.in_dll(library, "tile_mutant")
    met = ctypes.c_int.in_dll(library, "tile_mutant_met")
    tried, redundant, disputed = 0, 0, []
    own = mutants.of_kernel[number]
    for mutant in mutants.of_headers + own[:: 1 if WHOLE or len(own) <= MANY else 3]:
        chosen.value, met.value = mutant.number, 0
        kind = of_the_simulator()
        if not met.value:
            continue  # a piece of the headers this kernel does not use
        problem = of_the_graph()
        tried += 1
        redundant += not kind and not problem
        if bool(kind) != bool(problem):
            disputed.append(f"{mutant.change}: {mutant.line}: {kind or 'clean'}, {problem}")
    chosen.value = 0
    print(f"{name}: {tried} mutants, {redundant} redundant, {len(disputed)} disputed")
    assert not disputed, "\n".join(disputed)


# Compiling is what takes time: each example without each second of its flags and barriers.
SHARE = 1 if WHOLE else 2


@pytest.mark.parametrize("name", kernels())
def test_proof_covers_what_the_simulator_finds(name: str, tmp_path: Path) -> None:
    """Where the simulator objects to an example with one instruction less, so does the proof from
    its text, which looks at all trip counts."""
    func, arguments = kernels()[name]
    batch, strict = KernelBatch(tmp_path), launcher().CHECKS_STRICT
    batch.add(func)
    whole = batch.funcs[0]
    missing = [o for o in walk_ops(whole.launch.body) if o.opdef.effect in SYNC][::SHARE]
    for op in missing:
        body = rewrite(whole.launch.body, lambda s, op=op: () if s is op else s)
        batch.funcs.append(replace(whole.with_body(body), name=f"without_{len(batch.funcs)}"))
    batch.build()
    assert not check_sync(whole) and batch.run(0, arguments, checks=strict).error is None
    noticed = 0
    for number, op in enumerate(missing, start=1):
        fault = batch.run(number, arguments, checks=strict).error
        said = check_sync(batch.funcs[number])
        assert said or fault is None, (op.loc, fault.text)
        noticed += bool(said)
    print(f"{name}: {len(missing)} mutants, {noticed} noticed")
    assert noticed
