"""No false alarm: the sample kernels give the same bytes and no fault, whatever core goes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzz_sources import BASES, Mutant, base_text, bound, compile_together, kernel_of
from tile_ir import DEFAULT_TARGET
from tile_runtime import Fault
from tile_runtime.source_kernels.crash import fault_of
from tile_runtime.source_kernels.isolated_run import run_isolated
from tile_runtime.source_kernels.run_files import RunFiles, RunOptions

SEEDS = 50
DEVICE, STRICT = 1, 2
SAMPLES = [b for b in BASES if b.path.startswith(("examples/ascendc", "tests/runtime/fuzz"))]


def test_every_sample_is_among_them() -> None:
    folder = Path(__file__).parents[2] / "examples" / "ascendc"
    assert {Path(b.path).name for b in SAMPLES} >= {p.name for p in folder.glob("*.cpp")}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Mutant]]:
    """All samples as they are, compiled together."""
    kernels = [kernel_of(number, base, base_text(base)) for number, base in enumerate(SAMPLES)]
    made = compile_together(kernels, tmp_path_factory.mktemp("samples"))
    assert made is not None and not any(k.outcome for k in kernels)
    return made, kernels


def run(
    library: Path, kernel: Mutant, checks: int, seed: int, starved: int
) -> tuple[Fault | None, list[bytes]]:
    options = RunOptions(
        kernel.base.blocks, checks, 1 + seed % 2, seed, DEFAULT_TARGET.cube_cores,
        DEFAULT_TARGET.vector_cores, 2 << 30, starved,
    )  # fmt: skip
    cells = bound(kernel)
    files = RunFiles(options, cells)
    try:
        ended = run_isolated(library, files, 20.0, f"run_{kernel.number}")
        fault = fault_of(ended, cells, library, "", 20.0)
        return fault, [files.memory_after(i).tobytes() for i in range(len(cells))]
    finally:
        files.close()


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_samples_under_many_schedules(number: int, library: tuple[Path, list[Mutant]]) -> None:
    path, kernels = library
    expected: Any = None
    schedules = [(DEVICE, seed, starved) for seed in range(SEEDS) for starved in range(4)]
    schedules += [(STRICT, 0, starved) for starved in range(4)]
    for checks, seed, starved in schedules:
        fault, memories = run(path, kernels[number], checks, seed, starved)
        assert fault is None, (checks, seed, starved, fault)
        expected = memories if expected is None else expected
        assert memories == expected, (checks, seed, starved)
