"""A test double of the device side of an NPU machine: a made-up CANN folder with a double of bisheng
and of CANN's runtime library (`runtime.cpp`), and a double of `torch.npu` over its calls.

The whole path from a kernel's call to the device boundary runs with it: command line of the
compiler, arguments, stream, allocations, errors, events, graphs. What the double launches waits in
its stream until somebody synchronises, and then runs on the simulator. Tensors are of the host.
Nothing here says anything about how a real device behaves.
"""

from __future__ import annotations

import importlib.machinery
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from npu_double.torch_npu_double import RuntimeDouble, TorchNpu
from tile_runtime.devices import choose_device
from tile_runtime.devices.npu_device import NpuDevice
from tile_runtime.launcher import remember_call
from tile_runtime.launcher.native import simulator_library
from tile_runtime.simulator.build_simulator import include_directory

HERE = Path(__file__).parent
# What kernels are linked with, all of them the one double.
LIBRARIES = ("ascendcl", "runtime", "tiling_api", "platform", "c_sec")
_VERSION = "Version=7.7.0.1.238\nversion_dir=8.1.RC1\n"


def _runtime_library(folder: Path) -> Path:
    simulator = simulator_library()
    library = folder / "libascendcl.so"
    subprocess.run(
        [
            "g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
            *(f"-I{HERE / folder}" for folder in ("include", "include/experiment/runtime")),
            f"-I{include_directory()}", str(HERE / "runtime.cpp"),
            str(simulator), f"-Wl,-rpath,{simulator.parent}", "-Wl,-soname,libascendcl.so",
            "-o", str(library),
        ],
        check=True,
    )  # fmt: skip
    return library


def make_cann_folder(folder: Path) -> Path:
    """A CANN folder as a toolkit installs it, of which only what is used is there."""
    shutil.copytree(HERE / "include", folder / "include")
    libraries, programs = folder / "lib64", folder / "bin"
    libraries.mkdir()
    programs.mkdir()
    (folder / "compiler").mkdir()
    (folder / "compiler" / "version.info").write_text(_VERSION)
    _runtime_library(libraries)
    for name in LIBRARIES[1:]:
        (libraries / f"lib{name}.so").symlink_to("libascendcl.so")
    bisheng = programs / "bisheng"
    text = (HERE / "bisheng.sh").read_text().replace("@SIMULATOR@", str(include_directory()))
    bisheng.write_text(text)
    bisheng.chmod(0o755)
    return folder


class NpuDouble:
    """The machine in a test: what the compiler and the runtime library were asked for."""

    def __init__(self, folder: Path, runtime: RuntimeDouble, npu: TorchNpu) -> None:
        self.folder = folder
        self.runtime = runtime
        self.npu = npu

    def command_lines(self) -> list[str]:
        """Those of the device compiler, oldest first."""
        log = self.folder / "bin" / "bisheng.log"
        return log.read_text().splitlines() if log.exists() else []

    def calls(self) -> list[str]:
        """Calls of the runtime library since this was last asked."""
        return self.runtime.calls()


@contextmanager
def installed(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[NpuDouble]:
    """While it is entered, this machine has an NPU: `folder` is its CANN."""
    runtime = RuntimeDouble(folder / "lib64" / "libascendcl.so")
    npu = TorchNpu(runtime)
    module: Any = ModuleType("torch_npu")
    module.__spec__ = importlib.machinery.ModuleSpec("torch_npu", None)
    module.__version__, module.npu = "double", npu
    patch.setitem(sys.modules, "torch_npu", module)
    patch.setattr(torch, "npu", npu, raising=False)
    patch.setattr(torch, "empty", npu.memory.recording(torch.empty))
    patch.setattr(torch, "empty_strided", npu.memory.recording(torch.empty_strided))
    patch.setattr(NpuDevice, "device_type", "cpu")
    patch.setenv("ASCEND_HOME_PATH", str(folder))
    patch.setenv("TILE_TARGET", "npu")
    # What is found out once in a process.
    choose_device.npu_problem.cache_clear()
    remember_call._torch.cache_clear()
    try:
        yield NpuDouble(folder, runtime, npu)
    finally:
        choose_device.npu_problem.cache_clear()
        remember_call._torch.cache_clear()


__all__ = ["NpuDouble", "installed", "make_cann_folder"]
