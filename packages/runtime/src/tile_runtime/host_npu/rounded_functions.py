"""exp and log of float32, rounded once as the vector unit of the simulator does.

torch on the cpu is off by a last bit now and then. A script that compares a kernel with torch
on the device compares two results of one unit, some to the last bit of a half; here both have to
come from the same function.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

_NAMES = ("exp", "log")


def round_functions_once() -> None:
    """From now on."""
    for name in _NAMES:
        for owner in (torch, torch.Tensor):
            setattr(owner, name, _through_double(getattr(owner, name)))


def _through_double(function: Any) -> Any:
    @functools.wraps(function)
    def rounded(*args: Any, **kwargs: Any) -> Any:
        single = len(args) == 1 and isinstance(args[0], torch.Tensor) and not kwargs
        if not single or args[0].dtype is not torch.float32 or args[0].device.type != "cpu":
            return function(*args, **kwargs)
        return function(args[0].double()).float()

    return rounded
