"""The device compiler: bisheng's command line for a kernel (docs/hardware/compilers.md#device)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tile_ir import BuildError, Target

_INCLUDES = (
    "include",
    "include/experiment/msprof",
    "include/experiment/runtime",
    "pkg_inc",
    "pkg_inc/runtime",
    "pkg_inc/profiling",
)
_LIBRARIES = ("runtime", "ascendcl", "m", "tiling_api", "platform", "c_sec", "dl")
_WARNINGS = ("macro-redefined", "ignored-attributes", "non-c-typedef-for-linkage")
_SILENT = tuple(f"-Wno-{name}" for name in _WARNINGS)
# Integers of the language wrap, so signed overflow has to be what the machine does.
FLAGS = ("-O2", "-fwrapv", "-std=c++17")


def find_device_compiler() -> str:
    """Path of bisheng: on PATH, or below the CANN folder.

    Raises BuildError that says what to install.
    """
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_HOME") or ""
    folders = [os.environ.get("PATH", "")]
    if home:
        folders += [f"{home}/bin", f"{home}/compiler/ccec_compiler/bin"]
    found = shutil.which("bisheng", path=os.pathsep.join(folders))
    if found is None:
        raise BuildError(
            "no-device-compiler",
            "bisheng, the Ascend device compiler, is not on PATH or below $ASCEND_HOME_PATH",
            hint="install CANN and source its set_env.sh, or set TILE_TARGET=sim",
        )
    return found


def cann_home() -> Path:
    """The CANN folder. BuildError when it is not known."""
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_HOME")
    if not home:
        raise BuildError(
            "no-cann",
            "ASCEND_HOME_PATH is not set, so CANN's headers can not be found",
            hint="source set_env.sh of CANN, or set TILE_TARGET=sim",
        )
    return Path(home)


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
        *(f"-l{name}" for name in _LIBRARIES),
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
        *(f"-I{home / path}" for path in _INCLUDES),
        *(f"-I{path}" for path in includes),
    ]
