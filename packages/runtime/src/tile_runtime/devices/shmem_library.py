"""The vendor's SHMEM library on this machine: where kernels that talk to other devices find its
headers and what they are linked with."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tile_ir import BuildError

# What its set_env.sh sets, and the usual place; its parts are below `shmem` there.
VARIABLE = "SHMEM_HOME_PATH"
_USUAL_PLACE = Path("/usr/local/Ascend/shmem/latest")
# Kernels that ask for their rank include this.
_MARK = '"tile/ranks.h"'
_INCLUDES = ("include", "src/device")


def shmem_home() -> Path | None:
    """The folder of the library, None where there is none."""
    told = os.environ.get(VARIABLE)
    home = Path(told) if told else _USUAL_PLACE
    return next((p for p in (home / "shmem", home) if (p / "include" / "shmem.h").is_file()), None)


def shmem_identity() -> str:
    """Identify the library's version for the cache key of kernels; empty without the library."""
    home = shmem_home()
    return "" if home is None else f"{home} {(home / 'include' / 'shmem.h').stat().st_mtime_ns}"


def asks_for_rank(source: Path) -> bool:
    """Whether an emitted kernel is for several devices; a file that is not there is for none."""
    return source.is_file() and _MARK in source.read_text(errors="replace")


def shmem_started() -> bool:
    """Whether this process has started the library, as one of the ranks."""
    package = sys.modules.get("shmem")
    if package is None:
        return False
    return bool(package.aclshmemx_init_status() == package.InitStatus.INITIALIZED)


def shmem_words(sources: Sequence[Path], linked: bool) -> list[str]:
    """Return the compiler's arguments for these sources; none if no source uses its rank.
    Raises BuildError where the library is missing."""
    if not any(map(asks_for_rank, sources)):
        return []
    home = shmem_home()
    if home is None:
        raise BuildError(
            "no-shmem",
            f"{sources[0].name} uses its rank, but SHMEM's headers are not found",
            hint=f"source set_env.sh of the vendor's SHMEM library, which sets {VARIABLE}",
        )
    words = [f"-I{home / folder}" for folder in _INCLUDES]
    library = home / "lib"
    return words if not linked else [*words, f"-L{library}", "-lshmem", f"-Wl,-rpath,{library}"]
