"""Tensors that go to the device and come back: copies, unless they are there already.

A kernel that writes its argument must not change what the script kept on the host, and the other
way round, so each direction copies although both ends are host memory. A tensor that is on the
device stays itself there, so that what a kernel writes in place is seen through its other names.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tile_runtime.host_npu.device_arguments import NAMES, is_npu, on_host
from tile_runtime.host_npu.residence import (
    copied,
    is_on_device,
    keep_clones_where_they_are,
    on_device,
)


def add_tensor_moves() -> None:
    """`.npu()`, and copies from `.cpu()` and `.to(device)`, of tensors and modules."""
    keep_clones_where_they_are()
    torch.Tensor.npu = _npu  # type: ignore[attr-defined]
    if "cuda" in NAMES:
        torch.Tensor.cuda = _npu  # type: ignore
        torch.Tensor.is_cuda = property(lambda self: self.device.type == "cpu")  # type: ignore
        torch.nn.Module.cuda = lambda self, device=None: self  # type: ignore
    torch.Tensor.cpu = _cpu  # type: ignore[method-assign, assignment]
    torch.Tensor.to = _to(torch.Tensor.to)  # type: ignore[method-assign]
    torch.Tensor.is_npu = property(lambda self: self.device.type == "cpu")  # type: ignore
    torch.nn.Module.npu = lambda self, device=None: self  # type: ignore[attr-defined]
    torch.nn.Module.to = _module_to(torch.nn.Module.to)  # type: ignore[method-assign]


def _npu(
    self: torch.Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """The tensor on the device."""
    if is_on_device(self):
        return self
    moved: torch.Tensor = on_device(copied(self, memory_format=memory_format))
    return moved


def _cpu(
    self: torch.Tensor, memory_format: torch.memory_format = torch.preserve_format
) -> torch.Tensor:
    """A copy on the host."""
    return copied(self, memory_format=memory_format)


def _to(original: Any) -> Any:
    @functools.wraps(original)
    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        named = kwargs.get("device", args[0] if args else None)
        if not is_npu(named) and named not in ("cpu", "cpu:0"):
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        if "device" in kwargs:
            kwargs["device"] = on_host(named)
        else:
            args = (on_host(named), *args[1:])
        moved: torch.Tensor = original(self, *args, **kwargs)
        if moved is self and not (is_npu(named) and is_on_device(self)):
            moved = copied(self)
        return on_device(moved) if is_npu(named) else moved

    return to


def _module_to(original: Any) -> Any:
    @functools.wraps(original)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple(map(on_host, args))
        if "device" in kwargs:
            kwargs["device"] = on_host(kwargs["device"])
        return original(self, *args, **kwargs)

    return to
