"""The compiler of tests: kernels as the emitter writes them find their headers read before, and are
not optimised.

Reading headers and optimising are two thirds of what compiling a small kernel takes. The fixtures are
for conftest.py of folders whose tests compile many.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_ir.switches import override
from tile_runtime.devices.compile_host import FLAGS, find_compiler
from tile_runtime.simulator.build_simulator import include_directory

_HEADER = '#include "kernel_operator.h"\n#include "tile_device.h"\n'
_UNOPTIMISED = (*FLAGS, "-O0")
# Hand-written kernels, which a debugging level shows, have macros that the headers look at, and a
# test may have headers of its own: these are compiled as they would be without this.
_WRAPPER = """#!/bin/sh
case " $* " in
  *" -g"*) exec {compiler} "$@" ;;
  *" -I"{folder}" "*) exec {compiler} -include {header} "$@" -O0 ;;
esac
exec {compiler} "$@"
"""


def quick_compiler(folder: Path) -> str:
    """Path of a command, made in the folder, that takes the arguments of the host compiler."""
    compiler, header, command = find_compiler(), folder / "kernel.h", folder / "c++"
    header.write_text(_HEADER)
    includes = [f"-I{f}" for f in (include_directory(), DEVICE_HEADER_DIR)]
    read = [*compiler, *_UNOPTIMISED, *includes, "-x", "c++-header", str(header)]
    subprocess.run([*read, "-o", f"{header}.gch"], check=True)
    words = {
        "compiler": shlex.join(compiler),
        "folder": shlex.quote(str(DEVICE_HEADER_DIR)),
        "header": shlex.quote(str(header)),
    }
    command.write_text(_WRAPPER.format(**words))
    command.chmod(0o755)
    return str(command)


@pytest.fixture(scope="session")
def unoptimising() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tile-compiler-") as folder:
        yield quick_compiler(Path(folder))


@pytest.fixture
def quick_kernels(request: pytest.FixtureRequest, fresh_switches: None) -> Iterator[None]:
    """What this process compiles is not optimised; with `--optimised` it is, as a user's kernels."""
    if request.config.getoption("--optimised"):
        yield
        return
    with override(cxx=request.getfixturevalue("unoptimising")):
        yield
