"""The device compiler: bisheng's command line for a kernel (docs/hardware/compilers.md#device)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tile_ir import Target
from tile_runtime.devices.cann import INCLUDES, LIBRARIES

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
) -> list[str]:
    """One invocation of bisheng that makes a shared object of the sources."""
    return [
        compiler,
        *_language(includes, home, target, flags),
        f"-L{home / 'lib64'}",
        *_SILENT,
        *(f"-l{name}" for name in LIBRARIES),
        "-fPIC",
        "--shared",
        *(str(path) for path in sources),
        "-o",
        str(output),
    ]


def object_command(
    compiler: str,
    source: Path,
    output: Path,
    includes: Sequence[Path],
    home: Path,
    target: Target,
    flags: Sequence[str] = (),
) -> list[str]:
    """One invocation of bisheng that makes an object of a source, to be linked by others."""
    language = _language(includes, home, target, flags)
    return [compiler, *language, *_SILENT, "-fPIC", "-c", str(source), "-o", str(output)]


def _language(
    includes: Sequence[Path], home: Path, target: Target, flags: Sequence[str]
) -> list[str]:
    return [
        f"--npu-arch=dav-{target.npu_arch}",
        *FLAGS,
        *flags,
        "-xasc",
        *(f"-I{home / path}" for path in INCLUDES),
        *(f"-I{path}" for path in includes),
    ]
