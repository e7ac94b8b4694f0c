"""The simulator library and the launcher extension: prebuilt in the package, or built when needed.

An installed package may hold both, built by `setup.py` for the machine it was installed on; on any
other CPU, and in a source checkout, they are built into the cache at first use.
"""

from __future__ import annotations

import importlib.util
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from tile_ir import BuildError
from tile_runtime.simulator import build_simulator as builder

PREBUILT = Path(__file__).parents[1] / "prebuilt"


def simulator_library(may_build: bool = True) -> Path:
    """Path of libtile_simulator.so. BuildError if it has to be built and can not, or may not."""
    return _prebuilt("libtile_simulator.so") or _built(builder.build_simulator, may_build)


def launcher_library(may_build: bool = True) -> Path:
    """Path of the extension module. BuildError as above, or if Python's headers are missing."""
    found = _prebuilt("_tile_launcher*.so")
    if found is None and not Path(sysconfig.get_path("include"), "Python.h").is_file():
        raise BuildError(
            "no-python-headers",
            "Python.h is missing, with which the launcher of kernels is built",
            hint="apt-get install python3-dev, or dnf install python3-devel; a wheel of this "
            "platform needs neither",
        )
    return found or _built(builder.build_launcher, may_build)


def runner_program(may_build: bool = True) -> Path:
    """Path of the program that runs hand-written kernels. BuildError as above."""
    return _prebuilt(builder.RUNNER) or _built(builder.build_runner, may_build)


@lru_cache(maxsize=1)
def extension() -> Any:
    """The module `_tile_launcher`, which needs no simulator for kernels on a device.

    Raises BuildError if it has to be built and can not.
    """
    path = launcher_library()
    spec = importlib.util.spec_from_file_location("_tile_launcher", path)
    assert spec is not None and spec.loader is not None, "an extension module has a loader"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def launcher() -> Any:
    """The module `_tile_launcher` with the simulator loaded.

    Raises BuildError if something has to be built and can not.
    """
    library = simulator_library()
    module = extension()
    module.load_simulator(str(library))
    return module


def _prebuilt(pattern: str) -> Path | None:
    """The file in the installed package, if it was built for what this CPU has."""
    found = sorted(PREBUILT.glob(pattern))
    if not found or (PREBUILT / "cpu").read_text() != builder.instruction_set()[0]:
        return None
    return found[0]


def _built(build: Callable[..., Path], may_build: bool) -> Path:
    try:
        return build(may_build=may_build)
    except builder.NotBuilt as error:
        raise BuildError("not-built", str(error)) from None
    except builder.CompilerMissing as error:
        raise BuildError(
            "no-compiler",
            str(error),
            hint="install one: `apt-get install g++` (Debian, Ubuntu) or `dnf install gcc-c++` "
            "(Fedora, openEuler)",
        ) from None
    except builder.SimulatorBuildError as error:
        raise BuildError("simulator-build", f"the simulator does not compile\n{error}") from None
    except OSError as error:
        raise BuildError(
            "cache-folder",
            f"the simulator can not be stored: {error}",
            hint="set TILE_CACHE_DIR to a folder that can be written",
        ) from None
