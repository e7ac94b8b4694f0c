"""Compiles the kernels of tests/timing/kernels for the simulator, all of them as one library.

Every kernel is an `extern "C" __global__ __aicore__ void name(...)` in one of the .cpp files, which are complete Ascend C sources. The host stubs that launch them are made here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from kernel_set import SANITIZE, SimulatorError, builder, launcher

from tile_ir.chips import DEFAULT_TARGET
from tile_ir.costs.timing import DEFAULT_TIMING, TimingTable, timing_of
from tile_ir.target import Target
from tile_runtime.simulator.timeline import Timeline, timeline_from

FOLDER = Path(__file__).parent / "kernels"

_KINDS = {"GM_ADDR": "ptr", "int32_t": "i32", "bool": "bool"}
_DECLARATION = re.compile(r'extern "C" __global__ __aicore__ void (\w+)\(([^)]*)\)\s*\{')


@dataclass(frozen=True)
class Kernel:
    """A kernel's name and its parameters as (type, name)."""

    name: str
    parameters: tuple[tuple[str, str], ...]


def sources() -> list[Path]:
    return sorted(FOLDER.glob("*.cpp"))


@lru_cache(maxsize=1)
def kernels() -> dict[str, Kernel]:
    """All kernels by name, read from their declarations."""
    found = {}
    for path in sources():
        for name, declared in _DECLARATION.findall(path.read_text()):
            words = [p.split() for p in declared.split(",")]
            parameters = tuple(
                (w[0], w[1] if len(w) > 1 else f"unused{i}") for i, w in enumerate(words)
            )
            assert name not in found, name
            found[name] = Kernel(name, parameters)
    return found


def _stub(kernel: Kernel) -> str:
    """The host function the launcher calls; the number of blocks is one argument more."""
    types = [{"GM_ADDR": "uint8_t*"}.get(t, t) for t, _ in kernel.parameters] + ["uint32_t"]
    *values, blocks = (f"*({t}*)args[{i}]" for i, t in enumerate(types))
    arguments = ", ".join([f'"{kernel.name}"', blocks, kernel.name, *values])
    return (
        'extern "C" __attribute__((visibility("default")))\n'
        f"void run_{kernel.name}(void** args, void*)\n"
        f"{{\n    tile_simulator::launch({arguments});\n}}\n"
    )


@lru_cache(maxsize=1)
def library() -> Path:
    """The compiled library; kept in the temporary folder until a source or header changes."""
    headers = sorted(builder().include_directory().rglob("*.h"))
    content = b"".join(p.read_bytes() for p in [*sources(), *FOLDER.glob("*.h"), *headers])
    folder = Path(tempfile.gettempdir()) / f"tile-simulator-tests-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    # Checkouts with the same sources share it.
    stubs = "".join(_stub(kernel) for kernel in kernels().values())
    key = hashlib.sha256(bytes([SANITIZE]) + stubs.encode() + content).hexdigest()[:16]
    target = folder / f"timing-{key}.so"
    with open(folder / f"timing-{key}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of tests may be at it
        if not target.exists():
            source = folder / f"timing-{key}.cpp"
            source.write_text("".join(f'#include "{path}"\n' for path in sources()) + stubs)
            made = folder / f"timing-{key}.tmp"
            flags = builder().kernel_flags(sanitize=SANITIZE)
            command = [builder().find_compiler(), *flags, "-shared", str(source), "-o", str(made)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr[:8000]
            os.replace(made, target)
    return target


@lru_cache(maxsize=64)
def _opened(name: str) -> Any:
    kernel = kernels()[name]
    kinds = [_KINDS[t] for t, _ in kernel.parameters] + ["i32"]
    names = [n for _, n in kernel.parameters] + ["blocks"]
    return launcher().Kernel(str(library()), f"run_{name}", kinds, names)


def timeline(
    name: str,
    *arguments: Any,
    blocks: int,
    target: Target = DEFAULT_TARGET,
    warm: bool = False,
    table: TimingTable = DEFAULT_TIMING,
) -> Timeline:
    """The modelled timeline of a run. Nothing is checked: some kernels read into one buffer over
    and over with no order between the loads, as the published ones do."""
    run(
        name, *arguments, blocks=blocks, checks=launcher().CHECKS_OFF,
        cube_cores=target.cube_cores, vector_cores=target.vector_cores,
        timing=timing_of(target, table, warm_l2=warm),
    )  # fmt: skip
    return timeline_from(*_opened(name).timeline(), target)


def run(name: str, *arguments: Any, blocks: int, **options: Any) -> None:
    """Runs a kernel on arrays (by reference) and numbers."""
    opened = _opened(name)
    opened.set_options(**options)
    assert len(arguments) == len(kernels()[name].parameters), name
    values = tuple(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments)
    sizes = tuple(a.nbytes if isinstance(a, np.ndarray) else 0 for a in arguments)
    fault, _ = opened.run((*values, blocks), (*sizes, 0))
    if fault is not None:
        raise SimulatorError(fault)
