"""The device "npu" as an argument: wherever torch takes one, the cpu is meant.

Functions that take a device are replaced by ones that translate it, as torch_npu itself does to
lead "cuda" to its device. A `TorchFunctionMode` would see every call, but it holds for one thread
only, and it slows every operation and every look at a tensor, of which a kernel launch has several.
torch has the list of its factories, so the list here can not fall behind.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device

from tile_runtime.host_npu.residence import on_device

HOST = torch.device("cpu")
# Factories that take their device from a tensor, unless they are given one.
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like",
         "zeros_like")  # fmt: skip
_TENSOR_METHODS = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor",
                   "new_zeros", "type")  # fmt: skip


# What scripts call the device: also as those for GPUs do, where torch has none of these.
NAMES = ("npu",) if torch.version.cuda or torch.version.hip else ("npu", "cuda")


def is_npu(device: Any) -> bool:
    """Whether something names the device that is the host here; a number is that of an npu."""
    if type(device) is int:
        return True
    if isinstance(device, torch.device):
        return device.type in NAMES
    return isinstance(device, str) and device.partition(":")[0] in NAMES


def on_host(device: Any) -> Any:
    """The cpu for an npu; anything else as it is."""
    return HOST if is_npu(device) else device


def lead_device_arguments_to_host() -> None:
    """Translate devices from now on, in all threads."""
    # Asked before the factories are replaced: torch looks calls up in this set.
    factories = _device._device_constructors()
    for owner in (torch, torch.fft, torch.nested):
        for name, value in list(vars(owner).items()):
            if not name.startswith("_") and inspect.isroutine(value) and value in factories:
                _replace(owner, name)
    for name in _LIKE:
        _replace(torch, name)
    for name in _TENSOR_METHODS:
        _replace(torch.Tensor, name)
    _replace(torch, "load", "map_location")
    _lead_default_device()
    _lead_generators()


def _replace(owner: Any, name: str, keyword: str = "device") -> None:
    function: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(function)
    def translated(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("pin_memory", None)  # all memory is the host's
        if is_npu(kwargs.get(keyword)):
            kwargs[keyword] = HOST
            return on_device(function(*args, **kwargs))
        return function(*args, **kwargs)

    setattr(owner, name, translated)


def _lead_default_device() -> None:
    """`torch.set_default_device("npu")` and `with torch.device("npu"):`, which both make one."""
    original = _device.DeviceContext.__init__

    @functools.wraps(original)
    def init(self: Any, device: Any) -> None:
        original(self, on_host(device))

    _device.DeviceContext.__init__ = init  # type: ignore[method-assign]
    set_default = torch.set_default_device

    @functools.wraps(set_default)
    def set_default_device(device: Any) -> None:
        # Without a default device torch is faster than with the one it has anyway.
        set_default(None if is_npu(device) else device)

    torch.set_default_device = set_default_device


def _lead_generators() -> None:
    original = torch.Generator

    class Instances(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    class Generator(original, metaclass=Instances):  # type: ignore[misc, valid-type]
        __doc__ = original.__doc__

        def __new__(cls, device: Any = HOST) -> Any:
            return original.__new__(original, on_host(device))  # type: ignore[call-arg]

    torch.Generator = Generator  # type: ignore[misc]
