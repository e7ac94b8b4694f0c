"""Run passes of the vendor's open compiler on HIVM text, and read back their decisions."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tile_checkers.second_opinion.hivm_text import PIPES, SPACES
from tile_ir import BuildError, Memory, Pipe
from tile_ir.quick_dataclasses import dataclass

PACKAGE = "ascendnpu-ir"
SOLVERS = ("inject-sync", "graph-sync-solver")
PLANNER = "plan-memory"
_SECONDS = 60
_PIPE_OF = {text: pipe for pipe, text in PIPES.items()} | {"PIPE_ALL": Pipe.ALL}
_MEMORY_OF = {text: memory for memory, text in SPACES.items()}

_FLAG = re.compile(r"hivm\.hir\.(set|wait)_flag\[<(\w+)>, <(\w+)>")
_BARRIER = re.compile(r"hivm\.hir\.pipe_barrier\[<(\w+)>\]")
_CONSTANT = re.compile(r"(%\w+) = arith\.constant (\d+) : i64")
_CAST = re.compile(
    r"pointer_cast\(([^)]*)\) : memref<(\d+)x([a-z]+)(\d+), #hivm\.address_space<(\w+)>>"
)
_ERROR = re.compile(r"error: (.*)")


@dataclass(frozen=True, slots=True)
class CountedOrder:
    """The order inside a core: how many flags are set between two pipes and how many barriers
    there are of a pipe, as they stand in the text."""

    flags: Mapping[tuple[Pipe, Pipe], int]
    barriers: Mapping[Pipe, int]


class CompilerFailed(Exception):
    """A pass of the other compiler gave up; the message is its own."""


def find_compiler() -> Path:
    """The program that runs single passes. Raises BuildError where it is not installed."""
    spec = find_spec("ascendnpuir")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [Path(folder) / "bin" / "bishengir-opt" for folder in folders]
    program = next(filter(Path.is_file, found), None)
    if program is None:
        raise BuildError(
            "missing-extra",
            f"the vendor's open compiler ({PACKAGE}) is not installed",
            hint="pip install 'tile-ir[second-opinion]'",
        )
    return program


def solve_order(program: Path, solver: str, text: str) -> CountedOrder:
    """Return the order that one of SOLVERS makes for a text without any."""
    result = _run(program, solver, text)
    flags = Counter(
        (_PIPE_OF[source], _PIPE_OF[target])
        for what, source, target in _FLAG.findall(result)
        if what == "set"
    )
    barriers = Counter(_PIPE_OF[pipe] for pipe in _BARRIER.findall(result))
    # The one that ends every kernel, which the end of a launch is here.
    barriers[Pipe.ALL] -= 1
    return CountedOrder(flags, +barriers)


def plan_peaks(program: Path, text: str) -> dict[Memory, int]:
    """Return the bytes that the planner's addresses need of each memory."""
    result = _run(program, PLANNER, text)
    constants = {name: int(value) for name, value in _CONSTANT.findall(result)}
    peaks: dict[Memory, int] = {}
    for addresses, count, _, bits, space in _CAST.findall(result):
        memory, size = _MEMORY_OF[space], int(count) * int(bits) // 8
        for address in addresses.split(", "):
            peaks[memory] = max(peaks.get(memory, 0), constants[address] + size)
    return peaks


def _run(program: Path, name: str, text: str) -> str:
    """The text after the pass of a name. Raises CompilerFailed with the first error it reports."""
    try:
        done = subprocess.run(
            [program, f"--hivm-{name}", "-"],
            input=text, capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CompilerFailed(f"{name} took more than {_SECONDS} s") from None
    if done.returncode:
        error = _ERROR.search(done.stderr)
        last = done.stderr.strip().splitlines()[:1]
        raise CompilerFailed(error[1] if error else (last or [f"exit code {done.returncode}"])[0])
    return done.stdout


__all__ = [
    "PLANNER",
    "SOLVERS",
    "CompilerFailed",
    "CountedOrder",
    "find_compiler",
    "plan_peaks",
    "solve_order",
]
