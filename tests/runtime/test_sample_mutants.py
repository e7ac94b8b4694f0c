"""Every synchronisation of the hand-written samples matters: without it, or with it wrong, the checker
objects, or a graph of the run says that it was redundant."""

from __future__ import annotations

from pathlib import Path

import pytest
from end_to_end.happens_before import problems
from end_to_end.sync_mutants import with_mutants

from fuzz_sources import BASES, Mutant, base_text, bound, compile_together
from tile_ir import DEFAULT_TARGET
from tile_ir.costs.timing import timing_of
from tile_runtime.simulator.timeline import timeline_from
from tile_runtime.source_kernels.crash import fault_of
from tile_runtime.source_kernels.declaration import find_kernel
from tile_runtime.source_kernels.isolated_run import run_isolated
from tile_runtime.source_kernels.run_files import RunFiles, RunOptions

OFF, STRICT = 0, 2
# Each run is a process of its own, which reads from its environment what to change.
CHOICE = """
static const int tile_mutant = ::getenv("TILE_MUTANT") ? ::atoi(::getenv("TILE_MUTANT")) : 0;
static int tile_mutant_met = 0;
"""
# Those with flags of their own; in the others most are the queues'.
SAMPLES = [
    b
    for b in BASES
    if b.path.startswith("examples/ascendc") and not Path(b.path).name.startswith("queue")
]


@pytest.fixture(scope="module")
def library(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[tuple[Mutant, list[str]]]]:
    """All samples, each with all its mutants."""
    kernels, changes = [], []
    for number, base in enumerate(SAMPLES):
        text, mutants = with_mutants(base_text(base), 1)
        declared, expression = find_kernel(text, "m", base.kernel, base.template)
        kernels.append(Mutant(number, base, CHOICE + text, declared, expression))
        changes.append([f"{m.change}: {m.line}" for m in mutants])
    made = compile_together(kernels, tmp_path_factory.mktemp("mutants"))
    assert made is not None and not any(k.outcome for k in kernels)
    return made, list(zip(kernels, changes, strict=True))


def opinions(library: Path, kernel: Mutant) -> tuple[str, set[str]]:
    """What the simulator objects to at strict level, and the graph of the same run unchecked."""
    verdict, found = "", set()
    for checks, timing in ((STRICT, None), (OFF, timing_of(DEFAULT_TARGET))):
        options = RunOptions(
            kernel.base.blocks, checks, 1, 0, DEFAULT_TARGET.cube_cores,
            DEFAULT_TARGET.vector_cores, 2 << 30, 0, timing,
        )  # fmt: skip
        cells = bound(kernel)
        files = RunFiles(options, cells)
        try:
            ended = run_isolated(library, files, 20.0, f"run_{kernel.number}")
            fault = fault_of(ended, cells, library, "", 20.0)
            if timing is None:
                verdict = fault.kind if fault else ""
            elif fault is not None:
                found = {fault.kind}
            else:
                parts = files.read_timeline()
                assert parts is not None
                totals, strings, events, accesses, paddings = parts
                line = timeline_from(totals, strings, events, accesses, paddings, DEFAULT_TARGET)
                found = set(problems(line))
        finally:
            files.close()
    return verdict, found


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_every_mutant_is_objected_to(
    number: int,
    library: tuple[Path, list[tuple[Mutant, list[str]]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, kernels = library
    kernel, changes = kernels[number]
    verdict, always = opinions(path, kernel)
    # The graph does not know that large products into one tile are in order by themselves.
    assert verdict == "" and len(always) <= 1
    redundant, disputed = 0, []
    for mutant, change in enumerate(changes, 1):
        monkeypatch.setenv("TILE_MUTANT", str(mutant))
        simulator, graph = opinions(path, kernel)
        graph -= always
        redundant += not simulator and not graph
        if bool(simulator) != bool(graph):
            disputed.append(f"{change}: {simulator or 'clean'}, {sorted(graph)[:2]}")
    print(
        f"{kernel.base.path}: {len(changes)} mutants, {redundant} redundant, {len(disputed)} disputed"
    )
    assert not disputed, "\n".join(disputed)
