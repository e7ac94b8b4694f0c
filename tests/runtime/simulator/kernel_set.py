"""Compiles many small kernels as one translation unit and runs them on the simulator.

A test module makes one KernelSet, adds kernels to it at import, and calls them: the set is compiled
at the first call, in one go, since the compiler's start-up is most of the cost of a small kernel.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import vendor_headers
from kept_cases import OPTIMISED

_RUNTIME = Path(__file__).resolve().parents[3] / "packages" / "runtime" / "src" / "tile_runtime"


# With TILE_TEST_SANITIZE=1 the address and undefined-behaviour sanitizers are compiled in; needs
# LD_PRELOAD libasan.so (`g++ -print-file-name=libasan.so`) with ASAN_OPTIONS=detect_leaks=0.
SANITIZE = os.environ.get("TILE_TEST_SANITIZE") == "1"
# Not optimising takes half of the time; `--optimised` and the sanitizers do (kernel_compiler.py).
LEVEL = "-O1" if SANITIZE or OPTIMISED in os.environ else "-O0"


@lru_cache(maxsize=1)
def builder() -> ModuleType:
    """build_simulator.py, loaded by path: it needs nothing of the package."""
    spec = importlib.util.spec_from_file_location(
        "build_simulator", _RUNTIME / "simulator" / "build_simulator.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def launcher() -> Any:
    """The launcher extension with the simulator loaded."""
    path = builder().build_launcher()
    # One process has one copy of the extension, whoever loads it first.
    module = sys.modules.get("_tile_launcher")
    if module is None:
        spec = importlib.util.spec_from_file_location("_tile_launcher", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["_tile_launcher"] = module
        spec.loader.exec_module(module)
    module.load_simulator(str(builder().build_simulator(sanitize=SANITIZE)))
    return module


class SimulatorError(Exception):
    """A kernel stopped with an error; `fault` is the launcher's LaunchError."""

    def __init__(self, fault: Any) -> None:
        super().__init__(repr(fault))
        self.fault = fault


_KINDS = {
    "GM_ADDR": "ptr",
    "int32_t": "i32",
    "uint32_t": "i32",
    "int64_t": "i64",
    "float": "f32",
    "bool": "bool",
}


@dataclass
class _Kernel:
    name: str
    parameters: list[tuple[str, str]]
    body: str


def _entry(kernel: _Kernel) -> str:
    """The host stub the launcher calls; the number of blocks is one argument more."""
    types = [{"GM_ADDR": "uint8_t*"}.get(t, t) for t, _ in kernel.parameters] + ["uint32_t"]
    *values, blocks = (f"*({t}*)args[{i}]" for i, t in enumerate(types))
    arguments = ", ".join([f'"{kernel.name}"', blocks, kernel.name, *values])
    return (
        'extern "C" __attribute__((visibility("default")))\n'
        f"void run_{kernel.name}(void** args, void*)\n"
        f"{{\n    tile_simulator::launch({arguments});\n}}"
    )


class KernelSet:
    """Kernels of one test module."""

    def __init__(self, prelude: str = "") -> None:
        self._prelude = prelude
        self._kernels: dict[str, _Kernel] = {}
        self._library: Path | None = None
        self._opened: dict[str, Any] = {}

    def add(
        self, name: str, parameters: str, body: str, kind: str | None = "KERNEL_TYPE_AIV_ONLY"
    ) -> str:
        """Adds a kernel with the given parameter list; `kind` None leaves the default MIX 1:2."""
        assert name not in self._kernels, name
        split = [tuple(p.split()) for p in parameters.split(",") if p.strip()]
        first = f"KERNEL_TASK_TYPE_DEFAULT({kind});" if kind else ""
        self._kernels[name] = _Kernel(name, [(p[0], p[1]) for p in split], f"{first}\n{body}")
        return name

    def source(self, entries: bool = True) -> str:
        """The whole translation unit; without `entries` only device code, for a vendor."""
        parts = ['#include "kernel_operator.h"', "using namespace AscendC;", self._prelude]
        for kernel in self._kernels.values():
            declared = ", ".join(f"{t} {n}" for t, n in kernel.parameters)
            head = f'extern "C" __global__ __aicore__ void {kernel.name}({declared})'
            parts.append(f"{head}\n{{\n{kernel.body}\n}}")
            if entries:
                parts.append(_entry(kernel))
        return "\n".join(parts) + "\n"

    def library(self) -> Path:
        """The compiled translation unit."""
        if self._library is None:
            text = self.source()
            folder = Path(tempfile.gettempdir()) / f"tile-simulator-tests-{os.getuid()}"
            folder.mkdir(exist_ok=True)
            headers = b"".join(
                p.read_bytes() for p in sorted(builder().include_directory().rglob("*.h"))
            )
            about = f"{SANITIZE} {LEVEL}\n{text}"
            key = hashlib.sha256(about.encode() + headers).hexdigest()[:16]
            target = folder / f"{key}.so"
            if not target.exists():
                (folder / f"{key}.cpp").write_text(text)
                scratch = folder / f"{key}.{os.getpid()}.tmp"
                flags = [f for f in builder().kernel_flags(sanitize=SANITIZE) if f != "-O2"]
                command = [
                    builder().find_compiler(),
                    *flags,
                    LEVEL,
                    "-shared",
                    f"{folder / key}.cpp",
                    "-o",
                    str(scratch),
                ]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                assert result.returncode == 0, result.stderr[:8000]
                os.replace(scratch, target)
            self._library = target
        return self._library

    def run(self, name: str, *arguments: Any, blocks: int = 1, **options: int) -> str:
        """Runs a kernel on arrays (by reference) and numbers; returns what it printed."""
        kernel = self._kernels[name]
        if name not in self._opened:
            kinds = [_KINDS[t] for t, _ in kernel.parameters] + ["i32"]
            names = [n for _, n in kernel.parameters] + ["blocks"]
            self._opened[name] = launcher().Kernel(str(self.library()), f"run_{name}", kinds, names)
        opened = self._opened[name]
        opened.set_options(**options)
        assert len(arguments) == len(kernel.parameters)
        values = tuple(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments)
        sizes = tuple(a.nbytes if isinstance(a, np.ndarray) else 0 for a in arguments)
        fault, printed = opened.run((*values, blocks), (*sizes, 0))
        if fault is not None:
            raise SimulatorError(fault)
        return str(printed)

    def fault(self, name: str, *arguments: Any, **options: int) -> Any:
        """Runs a kernel that must stop with an error, and returns the error."""
        with pytest.raises(SimulatorError) as caught:
            self.run(name, *arguments, **options)
        return caught.value.fault

    def warnings(self, name: str, *arguments: Any, **options: int) -> list[Any]:
        """Runs a kernel that is right, and returns what it was warned of."""
        self.run(name, *arguments, **options)
        return self.others(name)

    def others(self, name: str) -> list[Any]:
        """Further errors of its latest run, or what one without an error was warned of."""
        return list(self._opened[name].others())

    def vendor_check(self) -> None:
        """Type-checks the kernels with CANN's headers, if TILE_CANN_HEADERS names a checkout."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernels.cpp"
            path.write_text(self.source(entries=False))
            vendor_headers.type_check(path)
