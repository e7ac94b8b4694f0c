"""Packages that scripts compare with and that need a GPU, where there is none.

`references` has in torch what their functions compute, and stands in their place. Triton, if it is
installed, runs in its own interpreter, with a driver that says so much of a device as its callers
ask; it is for kernels that scripts write in it themselves.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from conformance.block_pointers import add_block_pointers
from conformance.references import MODULES, PREFERRED_INSTALLED


def provide() -> None:
    """Make the packages importable in this process for good, before a script imports them."""
    installed = {name for name in PREFERRED_INSTALLED if importlib.util.find_spec(name)}
    modules = {
        n: m for package, of in MODULES.items() if package not in installed for n, m in of.items()
    }
    sys.meta_path.insert(0, _Provided(modules))
    if "triton" in installed:
        _interpret_triton()


class _Provided(MetaPathFinder, Loader):
    """Finds modules of a table before those that are installed or beside a script."""

    def __init__(self, modules: Mapping[str, Mapping[str, object]]) -> None:
        parts = [name.split(".") for name in modules]
        above = {".".join(p[:n]): {} for p in parts for n in range(1, len(p))}
        self.modules: Mapping[str, Mapping[str, object]] = {**above, **modules}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.modules or _asked_by_torch():
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name == "triton":
            _let_torch_look_for_triton()
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self.modules[module.__name__])


def _asked_by_torch() -> bool:
    """torch looks for Triton too, and would take the names that are here for all of it."""
    frame = sys._getframe(2)
    while "importlib" in frame.f_code.co_filename and frame.f_back is not None:
        frame = frame.f_back
    importer: str = frame.f_globals.get("__name__", "")
    return importer.partition(".")[0] == "torch"


def _let_torch_look_for_triton() -> None:
    """Now, before the script's import of it leaves a module that torch would find."""
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch._inductor.runtime.triton_compat")


def _interpret_triton() -> None:
    """Let the interpreter run kernels, each in the first of its configurations."""
    os.environ["TRITON_INTERPRET"] = "1"
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    driver.set_active(_HostDriver())
    add_block_pointers()
    tuned = Autotuner.run

    def run_the_first(tuner: Any, *arguments: Any, **named: Any) -> Any:
        tuner.configs = tuner.configs[:1]
        return tuned(tuner, *arguments, **named)

    Autotuner.run = run_the_first


class _HostDriver:
    """What Triton asks of a device while its interpreter runs kernels."""

    utils = SimpleNamespace(
        get_device_properties=lambda device: {"multiprocessor_count": 24, "max_shared_mem": 1 << 17}
    )

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cpu", 0, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., list[float]]:
        def once(
            kernel: Callable[[], object], quantiles: Any = None, **options: Any
        ) -> list[float]:
            kernel()
            return [1.0] * len(quantiles or [1])

        return once
