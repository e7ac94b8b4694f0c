"""Replace functions of torch whose results on the host differ from those on an NPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tile_runtime.host_npu.residence import copied

# Matrix products of half precision, as functions and as methods.
_PRODUCTS = ("addbmm", "addmm", "baddbmm", "bmm", "chain_matmul", "einsum", "matmul", "mm")
_METHODS = ("__matmul__", "__rmatmul__", "addbmm", "addmm", "baddbmm", "bmm", "matmul", "mm")
# Errors of stores that an NPU takes.
_REFUSAL = "refer to a single memory location"
_OVERFLOW = "without overflow"


def calculate_as_an_npu() -> None:
    """Replace them in this process for good."""
    for owner, names in ((torch, _PRODUCTS), (torch.Tensor, _METHODS)):
        for name in names:
            _replace(owner, name, _in_float)
    for name in ("exp", "log"):
        _replace(torch, name, _rounded_once)
        _replace(torch.Tensor, name, _rounded_once)
    for name in ("cross_entropy", "nll_loss"):
        _replace(functional, name, _of_int32_classes)
    _replace(torch.Tensor, "__setitem__", _storing)


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


def _in_float(function: Any) -> Any:
    """A product of half precision, computed in float32 and rounded once, as the cube unit does.

    torch gives the same on the cpu, but takes up to a hundred times as long (measured with 2.13 on
    x86-64: 2048 x 2048 x 1024 in 31 s instead of 0.3 s). Bfloat16 does not suffer from this.
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs or "out_dtype" in kwargs or not _all_half(args):
            return function(*args, **kwargs)
        return function(*map(_widened, args), **kwargs).half()

    return product


def _all_half(args: Any) -> bool:
    tensors = [x for arg in args for x in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    tensors = [t for t in tensors if isinstance(t, torch.Tensor)]
    return bool(tensors) and all(t.dtype is torch.half and t.device.type == "cpu" for t in tensors)


def _widened(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_widened, arg))
    return arg.float() if isinstance(arg, torch.Tensor) else arg


def _rounded_once(function: Any) -> Any:
    """Round exp and log of float32 once, as the simulator's vector unit does. torch's last bit
    differs in rare cases, and some scripts compare a kernel with torch to the last bit."""

    def rounded(*args: Any, **kwargs: Any) -> Any:
        single = len(args) == 1 and isinstance(args[0], torch.Tensor) and not kwargs
        if not single or args[0].dtype is not torch.float32 or args[0].device.type != "cpu":
            return function(*args, **kwargs)
        return function(args[0].double()).float()

    return rounded


def _of_int32_classes(function: Any) -> Any:
    """A loss function whose classes may be of any integer type."""

    def accepting(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        wide = target.long() if target.dtype is torch.int32 else target
        return function(input, wide, *args, **kwargs)

    return accepting


def _storing(function: Any) -> Any:
    """`x[...] = y` reads all of `y` before it writes, and a whole number wraps."""

    def store(self: torch.Tensor, index: Any, value: Any) -> None:
        try:
            function(self, index, value)
        except RuntimeError as error:
            if _REFUSAL in str(error) and isinstance(value, torch.Tensor):
                function(self, index, copied(value))
            elif _OVERFLOW in str(error) and isinstance(value, int):
                function(self, index, torch.tensor(value).to(self.dtype))
            else:
                raise

    return store
