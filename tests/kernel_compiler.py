"""The compiler of tests: kernels as the emitter writes them find their headers read before, and are
not optimised.

Reading headers and optimising are two thirds of what compiling a small kernel takes. The fixtures are
for conftest.py of folders whose tests compile many.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from cached_compiler import Compiler, compiled_folder
from remember_compilation import kernel_headers, remembering, run, shared_copies

from tile_ir.switches import SWITCHES, override
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices import compile_host
from tile_runtime.devices.compile_host import FLAGS, find_compiler

_HEADER = '#include "kernel_operator.h"\n#include "tile_device.h"\n'
_UNOPTIMISED = (*FLAGS, "-O0")
# What a process of tests compiles it looks for itself.
compile_host.subprocess = SimpleNamespace(  # type: ignore[assignment]
    run=run, TimeoutExpired=subprocess.TimeoutExpired
)


def host_compiler() -> tuple[str, ...]:
    """The compiler that no test has chosen."""
    with override(cxx=""):
        return find_compiler()


def quick_compiler(remember: bool = True) -> str:
    """Path of a command that takes the arguments of the host compiler; it remembers its outputs
    (cached_compiler.py), unless kernels never come again."""
    words = host_compiler()
    copies = shared_copies(kernel_headers())
    header = _precompiled_header(words, [copy for _, copy in copies])
    return remembering(Compiler(words, copies, str(header), remember))


def _precompiled_header(words: tuple[str, ...], includes: Sequence[str]) -> Path:
    key = f"{compiler_identity(words[0])}{_UNOPTIMISED}{includes}"
    name = hashlib.sha256(key.encode()).hexdigest()[:20]
    folder = Path(compiled_folder()) / f"quick-{name}"
    header, made_last = folder / "kernel.h", folder / "kernel.h.gch"
    if not made_last.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            (Path(made) / "kernel.h").write_text(_HEADER)
            (Path(made) / "kernel.h").rename(header)
            read = [*words, *_UNOPTIMISED, *(f"-I{f}" for f in includes), "-x", "c++-header"]
            subprocess.run([*read, str(header), "-o", f"{made}/kernel.h.gch"], check=True)
            (Path(made) / "kernel.h.gch").rename(made_last)
    return header


@pytest.fixture(scope="session")
def unoptimising() -> str:
    return quick_compiler()


@pytest.fixture
def quick_kernels(
    request: pytest.FixtureRequest, fresh_switches: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What this process and its children compile is not optimised; with `--optimised` it is, as a
    user's kernels."""
    if request.config.getoption("--optimised"):
        yield
        return
    compiler = request.getfixturevalue("unoptimising")
    monkeypatch.setenv(SWITCHES["cxx"].variable, compiler)
    with override(cxx=compiler):
        yield
