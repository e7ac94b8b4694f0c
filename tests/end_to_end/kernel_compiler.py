"""The compiler of these tests: kernels as the emitter writes them find their headers read before.

Of what compiling a small kernel takes, reading the headers is a third and optimising it another.
The wrapper made here is what the switch `cxx` names here; it hands on hand-written kernels,
which are compiled with macros of their own, as they are.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices.compile_host import FLAGS, find_compiler
from tile_runtime.simulator.build_simulator import include_directory

_HEADER = '#include "kernel_operator.h"\n#include "tile_device.h"\n'
# A debugging level stands in the commands for hand-written kernels only.
_WRAPPER = """#!/bin/sh
for word; do case $word in -g*|-dump*) exec {compiler} "$@";; esac; done
exec {compiler} -include {header} "$@" {flags}
"""


def kernel_compiler(optimise: bool) -> str:
    """Path of the wrapper, in a folder named by all that it depends on: all processes of all
    sessions share it."""
    compiler, flags = find_compiler(), () if optimise else ("-O0",)
    folders = (include_directory(), DEVICE_HEADER_DIR)
    text = _WRAPPER + _HEADER
    digest = hashlib.sha256(text.encode())
    for word in (compiler_identity(compiler[0]), *compiler, *FLAGS, *flags, *map(str, folders)):
        digest.update(word.encode() + b"\0")
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.h")):
        digest.update(path.read_bytes())
    shared = Path(tempfile.gettempdir()) / f"tile-simulator-tests-{os.getuid()}"
    folder = shared / f"compiler-{digest.hexdigest()[:16]}"
    if not folder.exists():
        shared.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=shared) as scratch:
            made = Path(scratch) / folder.name
            made.mkdir()
            header = made / "kernel.h"
            header.write_text(_HEADER)
            includes = [f"-I{f}" for f in folders]
            command = [*compiler, *FLAGS, *flags, *includes, "-x", "c++-header", str(header)]
            subprocess.run([*command, "-o", f"{header}.gch"], check=True)
            words = {"compiler": shlex.join(compiler), "flags": shlex.join(flags)}
            wrapper = made / "c++"
            wrapper.write_text(_WRAPPER.format(header=folder / "kernel.h", **words))
            wrapper.chmod(0o755)
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():
                    raise
                # Another process was faster; its folder is as good.
    return str(folder / "c++")
