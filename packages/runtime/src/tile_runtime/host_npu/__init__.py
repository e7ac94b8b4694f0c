"""Provide `torch.npu` and `torch_npu` without an NPU: the device "npu" is the host.

Tensors stay on the cpu. Every way to name a device (`device="npu"`, `.npu()`, `.to("npu:0")`,
`torch.set_default_device`, generators) is led there, see `device_arguments`; going to the device
and back copies, see `tensor_moves`. Not here: kernels, which run on the simulator (`devices`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from tile_ir import Target


def install(target: Target) -> None:
    """Provide both in this process for good, with the properties of a chip, as soon as torch is
    imported: a process that does not import it starts in a tenth of the time."""

    def change() -> None:
        from tile_runtime.host_npu.change_torch import change_torch

        change_torch(target)

    if any(isinstance(finder, _TorchFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _TorchFinder(change))
    if "torch" in sys.modules:
        change()


class _TorchFinder(MetaPathFinder):
    """Finds torch where it is, and changes it once it is loaded; torch_npu comes with it."""

    def __init__(self, change: Callable[[], None]) -> None:
        self._change = change

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "torch_npu":
            return ModuleSpec(name, _WithTorch())
        spec = PathFinder.find_spec(name, path) if name == "torch" else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_change(module: ModuleType) -> None:
                load(module)
                self._change()

            spec.loader.exec_module = load_and_change  # type: ignore[method-assign]
        return spec


class _WithTorch(Loader):
    """Loads torch_npu, which importing torch provides."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        import torch  # noqa: F401

        return sys.modules["torch_npu"]

    def exec_module(self, module: ModuleType) -> None: ...
