"""The CANN folder of this machine: where it is, its version, what is missing from it, its compiler,
and what it says of chips.

Not here: the compiler's command line (compile_device.py), and the device (npu_device.py).
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
from pathlib import Path

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass

# Below the folder: what kernels include is found in these, and linked with those.
INCLUDES = (
    "include",
    "include/experiment/msprof",
    "include/experiment/runtime",
    "pkg_inc",
    "pkg_inc/runtime",
    "pkg_inc/profiling",
)
LIBRARIES = ("runtime", "ascendcl", "m", "tiling_api", "platform", "c_sec", "dl")
_OF_THE_SYSTEM = ("m", "dl")
_HEADERS = ("acl/acl.h", "runtime/rt_ffts.h")
# Variables that set_env.sh sets, and where installers put the folder.
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_HOME")
_USUAL_PLACES = (
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
)
# Files that name the version, and the line that does.
_VERSION_FILES = (
    "compiler/version.info", "runtime/version.info", "toolkit/version.info",
    "*/ascend_toolkit_install.info",
)  # fmt: skip
_VERSION_LINE = re.compile(r"^version(?:_dir)?=(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cann:
    """A CANN folder; `told_by` is the variable that names it, empty for one in a usual place."""

    home: Path
    told_by: str

    @property
    def version(self) -> str | None:
        """As its files name it: 8.1.RC1; None if none does."""
        for pattern in _VERSION_FILES:
            for file in sorted(self.home.glob(pattern)):
                found = _VERSION_LINE.search(file.read_text(errors="replace"))
                if found is not None:
                    return found[1].strip()
        return None

    def missing(self) -> list[str]:
        """Headers and libraries that kernels need and that are not there."""
        headers = [
            header
            for header in _HEADERS
            if not any((self.home / folder / header).is_file() for folder in INCLUDES)
        ]
        libraries = [f"lib64/lib{n}.so" for n in LIBRARIES if n not in _OF_THE_SYSTEM]
        return [*headers, *(name for name in libraries if not (self.home / name).exists())]

    def cores(self, chip: str) -> tuple[int, int] | None:
        """Cube and vector cores of a chip by its file in CANN; None if no file states them."""
        for folder in ("", "*/"):
            for file in self.home.glob(f"{folder}data/platform_config/{chip}.ini"):
                said = configparser.ConfigParser(strict=False, interpolation=None)
                try:
                    said.read_string(file.read_text(errors="replace"))
                    info = said["SoCInfo"]
                    return int(info["cube_core_cnt"]), int(info["vector_core_cnt"])
                except (configparser.Error, KeyError, ValueError):
                    continue
        return None


def find_cann() -> Cann | None:
    """The folder the environment names, else one in a usual place; None if there is none."""
    for variable in _VARIABLES:
        if home := os.environ.get(variable):
            return Cann(Path(home), variable)
    for place in _USUAL_PLACES:
        home_there = Path(place).expanduser()
        if home_there.is_dir():
            return Cann(home_there, "")
    return None


def cann_home() -> Path:
    """The folder that the environment names. BuildError when it names none."""
    found = find_cann()
    if found is None or not found.told_by:
        raise BuildError(
            "no-cann",
            "ASCEND_HOME_PATH is not set, so CANN's headers can not be found",
            hint=f"source set_env.sh of CANN{f' in {found.home}' if found else ''}, "
            "or set TILE_TARGET=sim",
        )
    return found.home


def find_device_compiler() -> str:
    """Path of bisheng: on PATH, or below the CANN folder.

    Raises BuildError that says what to install.
    """
    cann = find_cann()
    folders = [os.environ.get("PATH", "")]
    if cann is not None:
        folders += [f"{cann.home}/bin", f"{cann.home}/compiler/ccec_compiler/bin"]
    found = shutil.which("bisheng", path=os.pathsep.join(folders))
    if found is None:
        raise BuildError(
            "no-device-compiler",
            "bisheng, the Ascend device compiler, is not on PATH or below $ASCEND_HOME_PATH",
            hint="install CANN and source its set_env.sh, or set TILE_TARGET=sim",
        )
    return found
