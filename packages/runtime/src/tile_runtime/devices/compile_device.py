"""The device compiler: bisheng's command line for a kernel (docs/hardware/index.md#compilers)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tile_ir import Target
from tile_runtime.devices.cann import INCLUDES, LIBRARIES
from tile_runtime.devices.shmem_library import shmem_words

_WARNINGS = ("macro-redefined", "ignored-attributes", "non-c-typedef-for-linkage")
_SILENT = tuple(f"-Wno-{name}" for name in _WARNINGS)
# Integers of the language wrap, so signed overflow has to be what the machine does.
FLAGS = ("-O2", "-fwrapv", "-std=c++17")


def device_command(
    compiler: str,
    sources: Sequence[Path],
    output: Path,
    includes: Sequence[Path],
    home: Path,
    target: Target,
    flags: Sequence[str] = (),
    shared: bool = True,
) -> list[str]:
    """One invocation of bisheng that makes a shared object of the sources, or without `shared` an
    object of one source, to be linked by others. Raises BuildError for a kernel over ranks where
    SHMEM is missing."""
    return [
        compiler,
        f"--npu-arch=dav-{target.npu_arch}",
        *FLAGS,
        *flags,
        "-xasc",
        *(f"-I{home / path}" for path in INCLUDES),
        *(f"-I{path}" for path in includes),
        *shmem_words(sources, shared),
        *((f"-L{home / 'lib64'}",) if shared else ()),
        *_SILENT,
        *(f"-l{name}" for name in (LIBRARIES if shared else ())),
        "-fPIC",
        "--shared" if shared else "-c",
        *(str(path) for path in sources),
        "-o",
        str(output),
    ]
