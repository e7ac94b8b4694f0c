"""Mutated kernels on the simulator: every run ends with success or a report, and we live on.

`make fuzz-simulator N=2000` prints a table of how the runs ended; `SEED=7` takes other mutants,
`CHECK=strict` another level than the usual mixture of device and off, `ONLY=tour` mutants of some
of the kernels.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tile_codegen_ascendc
from mutate_source import mutate
from tile_ir import TARGETS, CallError
from tile_ir.costs.timing import timing_of
from tile_ir.switches import SWITCHES
from tile_runtime import Fault
from tile_runtime.devices.compile_host import find_compiler
from tile_runtime.simulator.build_simulator import include_directory
from tile_runtime.source_kernels.arguments import bind
from tile_runtime.source_kernels.compile_source import DEFINED_BEHAVIOUR, PREDEFINED
from tile_runtime.source_kernels.crash import fault_of
from tile_runtime.source_kernels.declaration import KernelDeclaration, find_kernel
from tile_runtime.source_kernels.host_code import without_host_code
from tile_runtime.source_kernels.host_stub import stub_function
from tile_runtime.source_kernels.isolated_run import run_isolated
from tile_runtime.source_kernels.run_files import BAD_ARGUMENT, RunFiles, RunOptions
from tile_runtime.source_kernels.second_source import second_sources

ROOT = Path(__file__).resolve().parents[2]
BATCH = 20
TIMEOUT = 1.0
NOT_COMPILED = "does not compile"
NO_STRUCT = "does not say its tiling struct"
# A mutant has no files beside it.
NOWHERE = Path("/nowhere")
# What a mutant may be told. Raw pointers of the kernels themselves, such as those to tiling structs,
# may still fault; what the API does may not. Arrays of their own may overflow the stack of a core.
CRASHES = frozenset({"segmentation-fault", "abort", "exit", "killed", "signal"})


@dataclass(frozen=True)
class Base:
    """A correct kernel, and what it is called with. `raw`: it follows pointers by itself."""

    path: str
    kernel: str | None
    template: str | None
    blocks: int
    arguments: Callable[[], Sequence[Any]]
    raw: bool = False


@dataclass
class Mutant:
    """A mutated source, what goes before it, and how its run ended."""

    number: int
    base: Base
    text: str
    kernel: KernelDeclaration
    expression: str
    before: str = ""
    outcome: str = ""
    fault: Fault | None = field(default=None, repr=False)
    problem: str = ""


def _random(*shape: int, dtype: str = "float16") -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)


def _zeros(*shape: int, dtype: str = "float16") -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


SHAPE = np.array([128, 128, 128], np.uint32).tobytes()
TILING = np.array([5000, 500], np.uint32)
F32 = "float32"
STRUCT = np.array(
    [(1024, 0.5, 4, [1, -2, 3], [0x5555555555555555, 0])],
    [("total", "u4"), ("factor", "f4"), ("tiles", "u4"), ("steps", "i4", 3), ("mask", "u8", 2)],
)
BASES = (
    Base("examples/ascendc/vector_add.cpp", "add", None, 3,
         lambda: [_random(5000), _random(5000), _zeros(5000), TILING], raw=True),
    Base("examples/ascendc/vector_add.cpp", None, "scale_add<float, 256>", 3,
         lambda: [_random(999, dtype=F32), _random(999, dtype=F32), _zeros(999, dtype=F32), 999]),
    Base("examples/ascendc/vector_add.cpp", "maximum", None, 1,
         lambda: [_random(64, dtype=F32), _zeros(8, dtype=F32)]),
    Base("examples/ascendc/queue_add.cpp", None, None, 3,
         lambda: [_random(5000), _random(5000), _zeros(5000), TILING], raw=True),
    Base("examples/ascendc/queue_softmax.cpp", None, None, 3,
         lambda: [_random(7, 999, dtype=F32), _zeros(7, 999, dtype=F32), 7, 999]),
    Base("examples/ascendc/matmul.cpp", None, None, 2,
         lambda: [_random(128, 128), _random(128, 128), _zeros(128, 128, dtype=F32), SHAPE]),
    Base("examples/ascendc/matmul_relu.cpp", None, None, 2,
         lambda: [_random(128, 128), _random(128, 128), _zeros(128, 128),
                  _zeros(2, 64, 64, dtype=F32), SHAPE]),
    Base("tests/runtime/fuzz_kernels/vector_tour.cpp", None, None, 2,
         lambda: [_random(1024, dtype=F32), _zeros(1024, dtype=F32), 512, 0.5]),
    Base("tests/runtime/fuzz_kernels/cube_tour.cpp", None, None, 2,
         lambda: [_random(48, 64), _random(64, 32), _zeros(4, 48, 32)]),
    Base("tests/runtime/fuzz_kernels/sync_tour.cpp", None, None, 3,
         lambda: [_zeros(384, dtype="int32"), _zeros(784, dtype="int32"), 3]),
    Base("tests/runtime/fuzz_kernels/block_order_tour.cpp", None, None, 3,
         lambda: [_zeros(64, dtype="int32"), _zeros(448, dtype="int32"),
                  _zeros(4096, dtype="int32"), 2]),
    Base("tests/runtime/fuzz_kernels/pool_tour.cpp", None, None, 1,
         lambda: [[_random(6, 128), _random(6, 128)], _zeros(768)]),
    Base("tests/runtime/fuzz_kernels/tiling_tour.cpp", "tiling_tour", None, 2,
         lambda: [_random(1024, dtype=F32), _zeros(1024, dtype=F32), None, STRUCT]),
    Base("tests/runtime/fuzz_kernels/tiling_tour.cpp", None, "template_tour<float, 128, 1>", 2,
         lambda: [_random(1024, dtype=F32), _zeros(1024, dtype=F32), None, STRUCT]),
    Base("tests/codegen/examples/vector_add.cpp", "add_kernel", None, 16,
         lambda: [*(_random(1024, 1024, dtype=F32) for _ in range(3)), 0]),
    Base("tests/codegen/examples/softmax_bfloat16_34x322.cpp", "softmax_kernel", None, 2,
         lambda: [_zeros(34, 322, dtype="uint16"), _zeros(34, 322, dtype="uint16"), 0]),
    Base("tests/codegen/examples/gemm_intrinsic_24.cpp", "gemm_kernel_kernel", None, 24,
         lambda: [*(_random(1024, 1024) for _ in range(3)), 0]),
)  # fmt: skip


@cache
def base_text(base: Base) -> str:
    """The source with its own header in place, so that it is mutated too, and without system ones."""
    path = ROOT / base.path
    text = re.sub(
        r'#include "(matmul_tile\.h)"', lambda m: (path.parent / m[1]).read_text(), path.read_text()
    )
    text = re.sub(r"^\s*#(include|pragma)[^\n]*$", "", text, flags=re.M)
    # Many copies of a kernel stand in one file, each in a namespace.
    return without_host_code(text).replace('extern "C"', "")


def make_mutant(number: int, seed: int) -> Mutant:
    """Mutant `number` of a seed; always the same."""
    generator = random.Random(f"{seed}/{number}")
    base = BASES[number % len(BASES)]
    return kernel_of(number, base, mutate(base_text(base), generator))


def kernel_of(number: int, base: Base, text: str) -> Mutant:
    """A base, or what has become of its text, as one of many in a library."""
    declared, expression = find_kernel(base_text(base), "m", base.kernel, base.template)
    mutant = Mutant(number, base, text, declared, expression)
    try:
        mutant.before, _ = second_sources(mutant.text, declared.name, "", [NOWHERE])
    except CallError:
        mutant.outcome = NO_STRUCT
    return mutant


def _unit(mutants: Sequence[Mutant]) -> str:
    parts = ["#include <cstdlib>", '#include "tile_host_stub.h"', '#include "kernel_operator.h"',
             '#include "tile_device.h"', '#include "register/tilingdata_base.h"',
             '#include "ascendc/host_api/tiling/template_argument.h"']  # fmt: skip
    for m in mutants:
        # An unbalanced brace must not reach the next mutant.
        parts += ["#undef TileDefaultTiling", m.before.rstrip()]
        parts.append(f'#line 1 "mutant{m.number}"\nnamespace mutant{m.number} {{ {m.text}\n}}')
        expression = f"::mutant{m.number}{m.expression}"
        parts.append(
            stub_function(
                m.kernel, expression, sum(not c.listed for c in bound(m)), f"run_{m.number}"
            )
        )
    return "\n".join(parts)


@cache
def _cells(base: Base) -> Any:
    declared, _ = find_kernel(base_text(base), "m", base.kernel, base.template)
    return bind(declared, base.arguments())


def bound(mutant: Mutant) -> Any:
    return _cells(mutant.base)


def compile_together(mutants: list[Mutant], folder: Path) -> Path | None:
    """A library of those that compile; the others are marked."""
    source, library = folder / "mutants.cpp", folder / "mutants.so"
    command = [
        *find_compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", "-w", *DEFINED_BEHAVIOUR,
        "-fno-diagnostics-show-caret", "-ftemplate-backtrace-limit=0",
        *(f"-D{d}" for d in PREDEFINED),
        f"-I{include_directory()}", f"-I{tile_codegen_ascendc.DEVICE_HEADER_DIR}",
        f"-idirafter{include_directory() / 'host_headers'}", str(source),
    ]  # fmt: skip
    alive = [m for m in mutants if not m.outcome]
    syntax_only = True
    while alive:
        source.write_text(_unit(alive))
        output = ["-fsyntax-only"] if syntax_only else ["-o", str(library)]
        done = subprocess.run([*command, *output], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            if not syntax_only:
                return library
            syntax_only = False
            continue
        named = {int(n) for n in re.findall(r"\bmutant(\d+):\d+", done.stderr)}
        bad = [m for m in alive if m.number in named] or _worse_half(alive)
        for mutant in bad:
            mutant.outcome = NOT_COMPILED
        alive = [m for m in alive if m not in bad]
    return None


def _worse_half(alive: list[Mutant]) -> list[Mutant]:
    """The compiler does not say which mutant it means: those with other brackets than before."""

    def unbalanced(m: Mutant) -> bool:
        return any(m.text.count(a) != m.text.count(b) for a, b in ("{}", "()", "[]"))

    return [m for m in alive if unbalanced(m)] or alive[: (len(alive) + 1) // 2]


def _run(mutant: Mutant, library: Path, check: str | None) -> None:
    target = TARGETS["Ascend910B2"]
    # Without checks of the device too.
    level = check or ("off" if mutant.number % 4 == 3 else "device")
    options = RunOptions(
        blocks=mutant.base.blocks,
        checks=SWITCHES["check"].choices.index(level),
        threads=1 + mutant.number % 2,
        seed=mutant.number % 3,
        cube_cores=target.cube_cores,
        vector_cores=target.vector_cores,
        memory_limit=2 << 30,
        starved=mutant.number // 3 % 4,
        timing=timing_of(target) if mutant.number % 5 == 0 else None,
    )
    cells = bound(mutant)
    files = RunFiles(options, cells)
    try:
        ended = run_isolated(library, files, TIMEOUT, f"run_{mutant.number}")
        if ended.record.state == BAD_ARGUMENT and not ended.timed_out:
            mutant.outcome = "argument does not fit"
            return
        mutant.fault = fault_of(ended, cells, library, "", TIMEOUT)
    finally:
        files.close()
    mutant.outcome = mutant.fault.kind if mutant.fault is not None else "success"
    mutant.problem = _problem(mutant)


def _problem(mutant: Mutant) -> str:
    """Why the outcome breaks the invariant; empty if it does not."""
    fault = mutant.fault
    if fault is None:
        return ""
    if not fault.kind or not fault.text:
        return "a report without kind or text"
    if fault.kind == "internal-error":
        return "a signal inside the simulator"
    by_pointer = fault.kind in CRASHES or (fault.kind == "out-of-bounds" and not fault.api)
    if by_pointer and not mutant.base.raw:
        return "a signal, in a kernel that follows no pointer by itself"
    return ""


def run_batch(numbers: Sequence[int], seed: int, check: str | None = None) -> list[Mutant]:
    """Compile some mutants together, and run each that compiles."""
    mutants = [make_mutant(n, seed) for n in numbers]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        library = compile_together(mutants, Path(folder))
        for mutant in mutants:
            if library is not None and not mutant.outcome:
                _run(mutant, library, check)
    return mutants


def fuzz(
    count: int,
    seed: int,
    first: int = 0,
    workers: int = 2,
    check: str | None = None,
    only: str = "",
) -> list[Mutant]:
    """Run `count` mutants of the kernels whose path has `only` in it; batches are of one base each,
    whose texts compile alike."""
    by_base = {i: list[int]() for i, base in enumerate(BASES) if only in base.path}
    numbers = (n for n in itertools.count(first) if n % len(BASES) in by_base)
    for number in itertools.islice(numbers, count):
        by_base[number % len(BASES)].append(number)
    groups = by_base.values()
    batches = [group[i : i + BATCH] for group in groups for i in range(0, len(group), BATCH)]
    with ThreadPoolExecutor(workers) as pool:
        return [
            m for batch in pool.map(lambda b: run_batch(b, seed, check), batches) for m in batch
        ]


def table(mutants: Sequence[Mutant]) -> str:
    """How the runs ended, by base."""
    outcomes = Counter(m.outcome for m in mutants)
    rows = [f"{count:6d}  {outcome}" for outcome, count in outcomes.most_common()]
    return "\n".join([*rows, f"{len(mutants):6d}  mutants"])


def describe(mutant: Mutant) -> str:
    place = f"{mutant.base.path}, mutant {mutant.number}"
    return f"{place}: {mutant.problem}: {mutant.fault}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--check", choices=SWITCHES["check"].choices)
    parser.add_argument(
        "--only", default="", help="mutate kernels with this in their path: tour, pool"
    )
    parser.add_argument("--keep", type=Path, help="folder for the sources that break the invariant")
    options = parser.parse_args()
    if not any(options.only in base.path for base in BASES):
        parser.error(f"no kernel has {options.only!r} in its path")
    begin = time.monotonic()
    mutants = fuzz(
        options.count, options.seed, options.first, check=options.check, only=options.only
    )
    print(table(mutants))
    print(f"{time.monotonic() - begin:6.0f}  seconds")
    wrong = [m for m in mutants if m.problem]
    for mutant in wrong:
        print(describe(mutant))
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"mutant{mutant.number}.cpp").write_text(mutant.text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
